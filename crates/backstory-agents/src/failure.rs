//! What agents put around what a failed tool said.

use crate::agents::LogAgent;

/// Returns what a command printed, out of the frame that an agent puts around it.
pub fn unframed_output(output: &str) -> &str {
    let mut readers = LogAgent::all().map(|log_agent| log_agent.reader);
    let found = readers.find_map(|reader| reader.framed_output(output));
    found.unwrap_or(output)
}

/// Takes the tags out of a line that agents put around errors.
pub fn without_error_tags(line: &str) -> String {
    let tags = LogAgent::all().flat_map(|log_agent| log_agent.reader.error_tags());
    tags.fold(line.to_string(), |line, tag| {
        line.replace(&format!("<{tag}>"), "")
            .replace(&format!("</{tag}>"), "")
    })
}

/// Returns whether an error is a slip in the use of an agent's own tools, which it mends at once.
pub fn is_tool_slip(error: &str) -> bool {
    let error = error.to_lowercase();
    let mut slips = LogAgent::all().flat_map(|log_agent| log_agent.reader.tool_slips());
    slips.any(|words| error.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_taken_off() {
        let framed = "execution error: sandbox denied exec error, exit code: 1, stdout: built, stderr: no such file";
        assert_eq!(unframed_output(framed), "no such file");
        assert_eq!(unframed_output("stdout: x"), "stdout: x");
        let tagged = "<tool_use_error>File has not been read yet.</tool_use_error>";
        assert_eq!(without_error_tags(tagged), "File has not been read yet.");
    }
}
