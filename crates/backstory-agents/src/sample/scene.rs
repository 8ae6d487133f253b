//! A made-up piece of work: a project's files and an endless supply of turns in which an agent reads, changes and runs them.
//!
//! The files persist from turn to turn. That the same contents come back in every read and edit is what makes real logs as
//! compressible as they are, so generated ones have to do the same.

use super::random::Random;
use super::step::{Step, Transcript};
use super::text::{self, Command, Language};
use super::words::PROMPTS;

/// Folders that generated sessions work in.
pub(crate) const PROJECTS: &[(&str, Language)] = &[
    ("/home/ada/shop", Language::Rust),
    ("/home/ada/src/storefront", Language::TypeScript),
    ("/home/ada/lab/forecast", Language::Python),
    ("/home/ada/notes-cli", Language::Rust),
    ("/home/ada/code/billing_api", Language::Python),
];

/// The state of the work in one session.
pub(crate) struct Scene {
    random: Random,
    language: Language,
    files: Vec<File>,
    commands: Vec<Command>,
}

struct File {
    path: String,
    contents: String,
}

impl Scene {
    pub(crate) fn new(mut random: Random, language: Language) -> Self {
        let files = (0..random.between(3, 7))
            .map(|_| File::new(&mut random, language))
            .collect();
        Self {
            random,
            language,
            files,
            commands: Vec::new(),
        }
    }

    pub(crate) fn title(&mut self) -> String {
        text::filled(&mut self.random, "%v the %a %n in %n_%n")
    }

    /// Writes one turn: a prompt, some work, an answer. Stops working once the transcript has `limit` bytes.
    pub(crate) fn turn(&mut self, out: &mut dyn Transcript, limit: usize) {
        let template = self.random.pick(PROMPTS);
        let prompt = text::filled(&mut self.random, template);
        out.step(&Step::Prompt(&prompt));
        self.work(out, limit);
    }

    /// A turn whose prompt comes with a picture.
    pub(crate) fn picture(&mut self, out: &mut dyn Transcript, data: &str, limit: usize) {
        let text = text::filled(&mut self.random, "the %n page looks like this since %s");
        out.step(&Step::Picture { text: &text, data });
        self.work(out, limit);
    }

    /// A turn in which a subagent is sent off. Returns what it was asked and what it reported.
    pub(crate) fn delegate(&mut self, out: &mut dyn Transcript, agent: &str) -> (String, String) {
        let prompt = text::filled(&mut self.random, "Find every place that can %v a %n. %S %S");
        let report = self.prose(600, 2_500);
        let description = text::filled(&mut self.random, "Find %a %n uses");
        out.step(&Step::Prompt(&text::filled(
            &mut self.random,
            "%S look everywhere first",
        )));
        out.step(&Step::Delegate {
            agent,
            description: &description,
            prompt: &prompt,
            report: &report,
        });
        out.step(&Step::Answer(&self.prose(100, 600)));
        (prompt, report)
    }

    /// What a subagent does with `prompt`: work of its own, ending in the report.
    pub(crate) fn errand(
        &mut self,
        out: &mut dyn Transcript,
        prompt: &str,
        report: &str,
        limit: usize,
    ) {
        out.step(&Step::Prompt(prompt));
        while out.size() < limit {
            self.action(out);
        }
        out.step(&Step::Answer(report));
    }

    /// The conversation becomes too long for the model.
    pub(crate) fn compact(&mut self, out: &mut dyn Transcript) {
        out.step(&Step::Compact(&self.prose(2_000, 6_000)));
    }

    fn work(&mut self, out: &mut dyn Transcript, limit: usize) {
        for _ in 0..self.random.between(1, 26) {
            if out.size() >= limit {
                break;
            }
            self.action(out);
            if self.random.percent(2) {
                let queued =
                    text::filled(&mut self.random, "also %v the %a %n while you are there");
                out.step(&Step::Queued(&queued));
            }
        }
        if self.random.percent(4) {
            out.step(&Step::Interrupt);
        } else {
            out.step(&Step::Answer(&self.prose(200, 1_800)));
        }
    }

    /// One response of the model: thoughts, a word to the user, a tool.
    fn action(&mut self, out: &mut dyn Transcript) {
        if self.random.percent(45) {
            // Newer models keep their thoughts to themselves and leave only the signature.
            let thought = if self.random.percent(40) {
                String::new()
            } else {
                self.prose(150, 900)
            };
            out.step(&Step::Think(&thought));
        }
        if self.random.percent(40) {
            out.step(&Step::Say(&self.prose(40, 280)));
        }
        match self.random.below(100) {
            0..36 => self.run(out),
            36..56 => self.read(out),
            56..82 => self.edit(out),
            82..88 => self.grep(out),
            88..91 => {
                let paths: Vec<&str> = self.files.iter().map(|file| file.path.as_str()).collect();
                let pattern = format!("src/**/*.{}", self.language.extension());
                out.step(&Step::Glob {
                    pattern: &pattern,
                    paths: &paths,
                });
            }
            91..94 => self.write(out),
            94..97 => self.plan(out),
            _ => {
                let (first, second) = (self.random.any(&self.files), &self.files[0]);
                out.step(&Step::Together(&[
                    Step::Read {
                        path: &first.path,
                        contents: &first.contents,
                    },
                    Step::Read {
                        path: &second.path,
                        contents: &second.contents,
                    },
                ]));
            }
        }
    }

    fn run(&mut self, out: &mut dyn Transcript) {
        // People and agents run the same few commands over and over.
        if self.commands.is_empty() || self.random.percent(45) {
            self.commands.push(Command::new(&mut self.random));
        }
        if self.commands.len() > 6 {
            self.commands.remove(0);
        }
        let command = self.random.any(&self.commands);
        let (mut output, exit_code) = command.run(&mut self.random);
        if exit_code == 0 && self.random.percent(1) {
            while output.len() < 40_000 {
                output.push_str(&Command::new(&mut self.random).run(&mut self.random).0);
            }
        }
        out.step(&Step::Run {
            command: &command.line,
            output: &output,
            exit_code,
        });
    }

    fn read(&mut self, out: &mut dyn Transcript) {
        let file = self.random.any(&self.files);
        out.step(&Step::Read {
            path: &file.path,
            contents: &file.contents,
        });
    }

    fn edit(&mut self, out: &mut dyn Transcript) {
        let position = self.random.below(self.files.len() as u64) as usize;
        let (start, end) = self.lines_of(position);
        let new = text::function(&mut self.random, self.language);
        let new = new.trim_end();
        let file = &mut self.files[position];
        out.step(&Step::Edit {
            path: &file.path,
            before: &file.contents,
            old: &file.contents[start..end],
            new,
        });
        // A file that only grows would end up as large as the session.
        if file.contents.len() < 16_000 {
            file.contents.replace_range(start..end, new);
        } else {
            *file = File::new(&mut self.random, self.language);
        }
    }

    /// A few whole lines of a file, without the last line's end.
    fn lines_of(&mut self, position: usize) -> (usize, usize) {
        let contents = &self.files[position].contents;
        let wish = self.random.below(contents.len() as u64) as usize;
        let ends: Vec<usize> = memchr::memchr_iter(b'\n', contents.as_bytes()).collect();
        let first = ends.partition_point(|end| *end < wish);
        let last = (first + self.random.between(1, 8) as usize).min(ends.len().saturating_sub(1));
        let start = ends.get(first).map_or(0, |end| end + 1);
        let end = ends.get(last).copied().unwrap_or(contents.len());
        (start.min(end), end)
    }

    fn write(&mut self, out: &mut dyn Transcript) {
        let file = File::new(&mut self.random, self.language);
        out.step(&Step::Write {
            path: &file.path,
            contents: &file.contents,
        });
        self.files.push(file);
        if self.files.len() > 8 {
            self.files.remove(0);
        }
    }

    fn grep(&mut self, out: &mut dyn Transcript) {
        let pattern = text::filled(&mut self.random, "fn %v_|%n\\.%v");
        let found: Vec<String> = self
            .files
            .iter()
            .flat_map(|file| {
                file.contents
                    .lines()
                    .enumerate()
                    .filter(|(number, _)| number % 9 == 0)
                    .map(|(number, line)| format!("{}:{}:{line}", file.path, number + 1))
            })
            .collect();
        let matches: Vec<&str> = found.iter().map(String::as_str).collect();
        out.step(&Step::Grep {
            pattern: &pattern,
            matches: &matches,
        });
    }

    fn plan(&mut self, out: &mut dyn Transcript) {
        let texts: Vec<String> = (0..self.random.between(3, 8))
            .map(|_| text::filled(&mut self.random, "%v the %a %n in %n"))
            .collect();
        let done = self.random.below(texts.len() as u64) as usize;
        let items: Vec<(&str, &str)> = texts
            .iter()
            .enumerate()
            .map(|(position, text)| {
                let status = match position.cmp(&done) {
                    std::cmp::Ordering::Less => "completed",
                    std::cmp::Ordering::Equal => "in_progress",
                    std::cmp::Ordering::Greater => "pending",
                };
                (text.as_str(), status)
            })
            .collect();
        out.step(&Step::Plan(&items));
    }

    fn prose(&mut self, shortest: u64, longest: u64) -> String {
        let length = self.random.between(shortest, longest);
        text::prose(&mut self.random, length as usize)
    }
}

impl File {
    fn new(random: &mut Random, language: Language) -> Self {
        let length = random.between(1_500, 9_000) as usize;
        Self {
            path: text::filled(random, &format!("src/%n/%v_%n.{}", language.extension())),
            contents: text::code(random, language, length),
        }
    }
}
