//! `almach repl`: expressions evaluated, definitions kept.

mod session;

use crate::failure::{Outcome, complaint};
use crate::files;
use crate::options::ReplOptions;
use crate::terminal::{self, Style};
use almach_base::codes::cli as codes;
use almach_base::{FileId, SourceMap};
use almach_syntax::{Completeness, parse_repl};
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Completer, Editor, Helper, Highlighter, Hinter};
use session::Session;
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

const HELP: &str = "\
an expression          is evaluated
let x = e              keeps a value under a name
def, data, type …      keeps a definition; the same name again replaces it
:type e                shows the type of an expression
:load FILE             adds the definitions of a file
:definitions           shows what is kept
:reset                 forgets everything
:help                  shows this
:quit                  ends it (so does Ctrl-D)
An input that is not complete goes on in the next line; an empty line ends it.";

pub fn run(options: &ReplOptions, style: Style) -> Outcome {
    let mut session = Session::new(style);
    if let Some(path) = &options.file {
        match files::read_source(path) {
            Ok(text) => {
                session.load(path, text);
            }
            Err(diagnostic) => {
                terminal::report(&[diagnostic], &SourceMap::new(), style);
                return Outcome::WrongUse;
            }
        }
    }
    if std::io::stdin().is_terminal() {
        interactive(&mut session)
    } else {
        piped(&mut session)
    }
}

/// Lines from a pipe: no prompt, no editing, the same inputs.
fn piped(session: &mut Session) -> Outcome {
    let mut pending = String::new();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return Outcome::WrongUse };
        pending.push_str(&line);
        pending.push('\n');
        if (line.trim().is_empty() || is_complete(&pending))
            && handle(session, &std::mem::take(&mut pending)) == Next::Stop
        {
            return Outcome::Done;
        }
    }
    handle(session, &pending);
    Outcome::Done
}

fn interactive(session: &mut Session) -> Outcome {
    let mut editor: Editor<Prompt, DefaultHistory> = match Editor::new() {
        Ok(editor) => editor,
        Err(error) => {
            terminal::complain(&format!("error: the terminal cannot be used: {error}"));
            return Outcome::WrongUse;
        }
    };
    editor.set_helper(Some(Prompt));
    let history = history_file();
    if let Some(path) = &history {
        // A first session has none; it is written at the end.
        let _ = editor.load_history(path);
    }
    terminal::say("Almach. An expression is evaluated; :help shows what else there is.");
    loop {
        match editor.readline("> ") {
            Ok(text) => {
                let _ = editor.add_history_entry(text.trim_end());
                if handle(session, &text) == Next::Stop {
                    break;
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(_) => break,
        }
    }
    if let Some(path) = &history
        && let Err(error) = editor.save_history(path)
    {
        terminal::complain(&format!("warning: the history was not saved: {error}"));
    }
    Outcome::Done
}

fn history_file() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    let folder = etcetera::choose_base_strategy().ok()?.data_dir().join("almach");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join("history.txt"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Continue,
    Stop,
}

fn handle(session: &mut Session, text: &str) -> Next {
    let text = text.trim();
    let (command, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    match command {
        "" => {}
        ":quit" | ":q" => return Next::Stop,
        ":help" | ":h" | ":?" => terminal::say(HELP),
        ":type" | ":t" => session.show_type(rest),
        ":load" | ":l" => match files::read_source(rest.trim().as_ref()) {
            Ok(text) => session.load(rest.trim().as_ref(), text),
            Err(diagnostic) => session.complain(diagnostic),
        },
        ":definitions" => session.show_definitions(),
        ":reset" => session.reset(),
        _ if command.starts_with(':') => session.complain(
            complaint(codes::BAD_OPTION, format!("there is no command `{command}`")).help(":help lists them"),
        ),
        _ => session.input(text),
    }
    Next::Continue
}

fn is_complete(text: &str) -> bool {
    text.trim_start().starts_with(':') || parse_repl(FileId(0), text).completeness == Completeness::Complete
}

/// The prompt asks for another line while an input is not complete.
#[derive(Completer, Helper, Highlighter, Hinter)]
struct Prompt;

impl Validator for Prompt {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input();
        let ended = text.ends_with("\n") || is_complete(text);
        Ok(if ended {
            ValidationResult::Valid(None)
        } else {
            ValidationResult::Incomplete
        })
    }
}
