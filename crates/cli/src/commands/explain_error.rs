//! `almach explain-error [CODE]`.

use crate::failure::{Outcome, complaint};
use crate::options::ExplainErrorOptions;
use crate::terminal::{self, Style};
use almach_base::{SourceMap, codes, suggest};

pub fn run(options: &ExplainErrorOptions, style: Style) -> Outcome {
    let Some(code) = &options.code else {
        for info in codes::all() {
            terminal::say(&format!("{}  {}", info.code.0, info.title));
        }
        return Outcome::Done;
    };
    match codes::find(code) {
        Some(info) => {
            terminal::say(&format!(
                "{}: {}\n\n{}",
                info.code.0,
                info.title,
                info.explanation.trim()
            ));
            Outcome::Done
        }
        None => {
            let mut unknown = complaint(
                codes::cli::UNKNOWN_CODE,
                format!("there is no error code `{code}`"),
            )
            .help("`almach explain-error` without a code lists all of them");
            if let Some(near) = suggest::nearest(code, codes::all().map(|info| info.code.0)) {
                unknown = unknown.help(format!("did you mean `{near}`?"));
            }
            terminal::report(&[unknown], &SourceMap::new(), style);
            Outcome::WrongUse
        }
    }
}
