//! Tests of the checks that are found in commands.

use super::super::CheckFamily::{self, Build, Format, Lint, Test, Types};
use super::super::{Check, parse_shell_line};

fn last_check(line: &str) -> Option<Check> {
    Check::find(&parse_shell_line(line).pop()?)
}

/// Checks a line against its family and name; `~` behind the name is a narrow run, `!` one that mends.
fn assert_check(line: &str, family: CheckFamily, name: &str) {
    let Some(check) = last_check(line) else {
        panic!("no check in {line}");
    };
    let marks = format!(
        "{}{}",
        if check.is_narrow { "~" } else { "" },
        if check.is_fix { "!" } else { "" }
    );
    assert_eq!(
        (check.family, format!("{}{marks}", check.tool)),
        (family, name.to_string()),
        "{line}"
    );
}

#[test]
fn checks_of_rust_and_go_are_found() {
    let check = assert_check;
    check("cargo test", Test, "cargo test");
    check(
        "cargo t -p store --all-features",
        Test,
        "cargo test -p store",
    );
    check(
        "cargo +nightly test --workspace --package=store -- --nocapture",
        Test,
        "cargo test -p store",
    );
    check("cargo test cart::adds", Test, "cargo test~");
    check("cargo test --test api", Test, "cargo test~");
    check("cargo test -- --skip slow", Test, "cargo test~");
    check("cargo test -- --test-threads 1", Test, "cargo test");
    check("cargo test --no-run", Build, "cargo test --no-run");
    check("cargo nextest run -p store", Test, "cargo nextest -p store");
    check("cargo nextest run -E 'test(cart)'", Test, "cargo nextest~");
    check(
        "cargo clippy --workspace --all-targets -- -D warnings",
        Lint,
        "cargo clippy",
    );
    check("cargo clippy --fix", Lint, "cargo clippy!");
    check("cargo fmt --all -- --check", Format, "cargo fmt");
    check("cargo fmt --all", Format, "cargo fmt!");
    check(
        "cargo build --release -p store",
        Build,
        "cargo build -p store",
    );
    check("cargo check", Build, "cargo check");
    check("cargo doc --no-deps", Build, "cargo doc");
    check("go test ./...", Test, "go test");
    check("go test ./cart -run TestAdds -v", Test, "go test ./cart~");
    check(
        "go test -tags=integration ./...",
        Test,
        "go test -tags integration",
    );
    check("go vet ./...", Lint, "go vet");
    check(
        "go build -o bin/shop ./cmd/shop",
        Build,
        "go build ./cmd/shop",
    );
    check("gofmt -l .", Format, "gofmt");
    check("gofmt -w cart.go", Format, "gofmt~!");
    check("golangci-lint run --fix ./...", Lint, "golangci-lint run!");
}

#[test]
fn checks_of_python_and_javascript_are_found() {
    let check = assert_check;
    check("pytest -q --tb=short", Test, "pytest");
    check("pytest tests/", Test, "pytest");
    check("pytest -n 4 -m 'not slow' --cov shop", Test, "pytest");
    check("pytest tests/test_cart.py::test_adds", Test, "pytest~");
    check("pytest -k adds", Test, "pytest~");
    check("pytest -m slow", Test, "pytest~");
    check("python -m pytest tests/unit", Test, "pytest~");
    check(
        "python3 -m unittest discover -s tests",
        Test,
        "python -m unittest",
    );
    check(
        "python3 -m unittest tests.test_cart",
        Test,
        "python -m unittest~",
    );
    check("coverage run -m pytest", Test, "pytest");
    check("python manage.py test", Test, "manage.py test");
    check("tox -e py312", Test, "tox py312");
    check("nox -s tests", Test, "nox tests");
    check("ruff check --fix .", Lint, "ruff check!");
    check("ruff check src/cart.py", Lint, "ruff check~");
    check("ruff format --check .", Format, "ruff format");
    check("ruff format .", Format, "ruff format!");
    check("black --check src", Format, "black");
    check("mypy src", Types, "mypy");
    check("pyright", Types, "pyright");
    check("flake8 src", Lint, "flake8");
    check("npx jest", Test, "jest");
    check("npx jest src/cart.test.ts", Test, "jest~");
    check("vitest run", Test, "vitest");
    check("npx vitest --run -t adds", Test, "vitest~");
    check("mocha -g adds", Test, "mocha~");
    check(
        "npx playwright test --project chromium",
        Test,
        "playwright test --project chromium",
    );
    check("npx cypress run --spec a.cy.ts", Test, "cypress run~");
    check("npx tsc --noEmit -p web", Types, "tsc web");
    check("tsc", Build, "tsc");
    check("eslint . --fix", Lint, "eslint!");
    check("npx eslint src/cart.ts", Lint, "eslint~");
    check("biome check --write .", Lint, "biome check!");
    check("prettier --check .", Format, "prettier");
    check("prettier --write src/cart.ts", Format, "prettier~!");
    check("node --test", Test, "node --test");
    check("next build", Build, "next build");
    check("deno test", Test, "deno test");
    check("deno lint", Lint, "deno lint");
}

#[test]
fn checks_of_other_tools_are_found() {
    let check = assert_check;
    check("./gradlew clean test", Test, "gradle test");
    check(
        "./gradlew :app:test --tests CartTest",
        Test,
        "gradle :app:test~",
    );
    check("gradle build", Build, "gradle build");
    check("mvn -q test -pl store", Test, "mvn test -pl store");
    check("mvn verify -Dtest=CartTest", Test, "mvn verify~");
    check("mvn package -DskipTests", Build, "mvn package");
    check("ctest --test-dir build", Test, "ctest");
    check("ctest -R cart", Test, "ctest~");
    check("cmake --build build -j 8", Build, "cmake --build");
    check("ninja -C build", Build, "ninja");
    check("bundle exec rspec", Test, "rspec");
    check("rspec spec/cart_spec.rb", Test, "rspec~");
    check("rubocop -A", Lint, "rubocop!");
    check("rake spec", Test, "rake spec");
    check("vendor/bin/phpunit --filter adds", Test, "phpunit~");
    check("vendor/bin/phpstan analyse", Lint, "phpstan");
    check("composer test", Test, "composer run test");
    check(
        "dotnet test Shop.sln --filter Cart",
        Test,
        "dotnet test Shop.sln~",
    );
    check("dotnet build", Build, "dotnet build");
    check("dotnet format --verify-no-changes", Format, "dotnet format");
    check("swift test", Test, "swift test");
    check("xcodebuild test -scheme Shop", Test, "xcodebuild test Shop");
    check("mix test", Test, "mix test");
    check("mix format --check-formatted", Format, "mix format");
    check("sbt 'testOnly *Cart'", Test, "sbt testOnly~");
    check("bazel test //...", Test, "bazel test");
    check("zig build test", Test, "zig test");
    check("docker build -t shop .", Build, "docker build");
    check("docker compose build web", Build, "docker compose build");
    check("pre-commit run --all-files", Lint, "pre-commit run");
    check("shellcheck run.sh", Lint, "shellcheck~");
    check("actionlint", Lint, "actionlint");
    check("hadolint Dockerfile", Lint, "hadolint");
    check(
        "terraform -chdir=infra validate",
        Lint,
        "terraform validate",
    );
    check("terraform fmt -check", Format, "terraform fmt");
    check("bats test", Test, "bats");
}

#[test]
fn scripts_are_known_by_their_names() {
    let check = assert_check;
    check("npm test", Test, "npm run test");
    check("npm t -- cart.test.ts", Test, "npm run test~");
    check("npm run test:e2e", Test, "npm run test:e2e");
    check("npm run lint -- --fix", Lint, "npm run lint!");
    check("npm run check-types", Types, "npm run check-types");
    check(
        "npm run type-check --workspace web",
        Types,
        "npm run type-check --filter web",
    );
    check("npm run format:check", Format, "npm run format:check");
    check("npm run fmt", Format, "npm run fmt!");
    check("npm run build", Build, "npm run build");
    check("npm run check", Lint, "npm run check");
    check("pnpm --filter web test", Test, "pnpm run test --filter web");
    check("pnpm -r lint", Lint, "pnpm run lint");
    check("pnpm eslint .", Lint, "eslint");
    check(
        "yarn workspace web build",
        Build,
        "yarn run build --filter web",
    );
    check("yarn tsc --noEmit", Types, "tsc");
    check("bun test", Test, "bun test");
    check("bun run lint", Lint, "bun run lint");
    check("make", Build, "make");
    check("make -j8 test", Test, "make test");
    check("make lint test", Test, "make lint test");
    check("make check", Test, "make check");
    check("just lint", Lint, "just lint");
    check("task test:unit", Test, "task test:unit");
    check("mise run lint", Lint, "mise run lint");
    check("mise run test -- -run TestCart", Test, "mise run test~");
    check("mise run fmt", Format, "mise run fmt!");
    check(
        "npx turbo run test --filter=web",
        Test,
        "turbo run test --filter web",
    );
    check("npx nx test web", Test, "nx run test --filter web");
    check("deno task check", Lint, "deno task check");
}

#[test]
fn commands_that_only_resemble_checks_are_none() {
    let lines = [
        "cargo test --help",
        "cargo --version",
        "cargo test -- --list",
        "cargo nextest list",
        "cargo run",
        "cargo add serde",
        "cargo help test",
        "go test -list . ./...",
        "go run .",
        "go mod tidy",
        "go install golang.org/x/tools/gopls@latest",
        "golangci-lint --version",
        "pytest --collect-only",
        "pytest --version",
        "pytest --fixtures",
        "python app.py",
        "python -c 'import pytest'",
        "python -m http.server",
        "pip install pytest",
        "ruff --version",
        "ruff rule F401",
        "black --version",
        "mypy --help",
        "npx jest --watch",
        "npx jest --listTests",
        "vitest",
        "vitest watch",
        "tsc --watch",
        "tsc -w",
        "tsc --init",
        "eslint --print-config a.js",
        "prettier src/cart.ts",
        "npm install",
        "npm run dev",
        "npm run test:watch",
        "npm run build:watch",
        "npm run deploy",
        "npm build",
        "yarn add jest",
        "pnpm install",
        "pnpm dev",
        "next dev",
        "vite",
        "make -n test",
        "make help",
        "make install",
        "just --list",
        "just",
        "task --list",
        "mise install",
        "mise run dev",
        "mise tasks",
        "gradle tasks",
        "./gradlew --version",
        "mvn clean",
        "ctest -N",
        "cmake -S . -B build",
        "dotnet --version",
        "dotnet run",
        "xcodebuild -list",
        "bazel query //...",
        "terraform plan",
        "docker run shop",
        "docker compose up",
        "pre-commit install",
        "grep -rn 'cargo test' .",
        "echo npm test",
        "cat pytest.ini",
        "git commit -m 'cargo test'",
        "rg vitest",
    ];
    for line in lines {
        let found = last_check(line).map(|check| check.tool);
        // Without a terminal, vitest runs once.
        let is_run_once = line == "vitest";
        assert_eq!(found.is_some(), is_run_once, "{line}: {found:?}");
    }
    assert_check("npx jest --watch=false", Test, "jest");
}
