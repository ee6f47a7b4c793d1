//! Every example in the documentation runs.
//!
//! A block marked `almach` is a file whose `-- >` tests must pass (and that must check where it has none). A block
//! marked `nova` is a file in NOVA's syntax, with `; >` tests. A block marked `almach-error` starts with a line `-- error: E0301` and must be refused with that code.
#![allow(clippy::unwrap_used)]

mod support;

use std::path::PathBuf;
use support::{Folder, almach, root, strings};

struct Block {
    page: String,
    line: usize,
    language: String,
    text: String,
}

fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<_> = std::fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

fn blocks() -> Vec<Block> {
    let mut blocks = Vec::new();
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let mut open: Option<Block> = None;
        for (at, line) in text.lines().enumerate() {
            match (&mut open, line.strip_prefix("```")) {
                (None, Some(language)) => {
                    let page = page.file_name().unwrap().to_string_lossy().into_owned();
                    open = Some(Block {
                        page,
                        line: at + 1,
                        language: language.to_owned(),
                        text: String::new(),
                    });
                }
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some(block), None) => {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a code block is not closed", page.display());
    }
    blocks
}

fn failure(block: &Block) -> Option<String> {
    let folder = Folder::new();
    let name = if block.language == "nova" {
        "example.nova"
    } else {
        "example.alm"
    };
    folder.write(name, block.text.as_bytes());
    let command = if block.text.contains("-- >") || block.text.contains("; >") {
        "test"
    } else {
        "check"
    };
    let output = almach(folder.path(), &strings(&[command, name]));
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let wrong = match block
        .text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("-- error: "))
    {
        Some(code) => output.status.success() || !said.contains(&format!("[{}]", code.trim())),
        None => !output.status.success(),
    };
    wrong.then(|| format!("{}:{}\n{}\n{said}", block.page, block.line, block.text))
}

#[test]
fn every_example_in_the_documentation_runs() {
    let blocks: Vec<_> = blocks()
        .into_iter()
        .filter(|block| block.language.starts_with("almach") || block.language == "nova")
        .collect();
    assert!(!blocks.is_empty(), "no examples found");
    let failures: Vec<_> = blocks.iter().filter_map(failure).collect();
    assert!(
        failures.is_empty(),
        "{} of {} examples fail\n\n{}",
        failures.len(),
        blocks.len(),
        failures.join("\n")
    );
}
