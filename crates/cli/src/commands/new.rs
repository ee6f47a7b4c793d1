//! `almach new FOLDER`: a project that runs and tests at once.

use crate::failure::{Outcome, complaint};
use crate::files;
use crate::options::NewOptions;
use crate::terminal::{self, Style};
use almach_base::codes::cli as codes;
use almach_base::{Diagnostic, SourceMap};
use std::path::Path;

const PROGRAM: &str = "\
-- The sum of the squares of some numbers. Run it:   almach run main.alm '[1, 2, 3]'
--                                         Test it:  almach test .

def square (x: f32): f32 = x * x

entry main (xs: []f32): f32 = sum (map square xs)

-- > main [1, 2, 3]
-- = 14.0

-- > main []
-- = 0.0
";

pub fn run(options: &NewOptions, style: Style) -> Outcome {
    match make(&options.path) {
        Ok(()) => {
            let path = options.path.display();
            terminal::say(&format!(
                "made {path}/main.alm\ntry:  almach run {path}/main.alm '[1, 2, 3]'\n      almach test {path}"
            ));
            Outcome::Done
        }
        Err(diagnostic) => {
            terminal::report(&[diagnostic], &SourceMap::new(), style);
            Outcome::WrongUse
        }
    }
}

fn make(folder: &Path) -> Result<(), Diagnostic> {
    if folder.exists() {
        return Err(complaint(
            codes::FOLDER_EXISTS,
            format!("`{}` exists already", folder.display()),
        )
        .help("choose another name; nothing was changed"));
    }
    std::fs::create_dir_all(folder).map_err(|error| {
        let why = files::reason(&error);
        complaint(
            codes::UNWRITABLE_FILE,
            format!("cannot make the folder `{}`: {why}", folder.display()),
        )
    })?;
    files::write(&folder.join("main.alm"), PROGRAM.as_bytes())
}
