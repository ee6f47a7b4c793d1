//! Arguments from the command line to values, results to files.

use crate::failure::complaint;
use crate::files;
use crate::options::plain;
use almach_base::codes::cli as codes;
use almach_base::{Diagnostic, Name, counted};
use almach_core::Entry;
use almach_formats as formats;
use almach_value::{Sizes, Value, ValueType, conforms_with, parse};
use std::path::Path;

/// What a file's ending says about its content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    Npy,
    Npz,
    Json,
    Text,
}

fn format_of(path: &str) -> Option<Format> {
    match Path::new(path).extension()?.to_str()? {
        "npy" => Some(Format::Npy),
        "npz" => Some(Format::Npz),
        "json" => Some(Format::Json),
        "txt" => Some(Format::Text),
        _ => None,
    }
}

/// One value per parameter.
pub fn read_all(entry: &Entry, args: &[String]) -> Result<Vec<Value>, Diagnostic> {
    if args.len() != entry.params.len() {
        let wanted: Vec<String> = entry
            .params
            .iter()
            .map(|(name, ty)| format!("({name}: {ty})"))
            .collect();
        return Err(complaint(
            codes::ARGUMENT_COUNT,
            format!(
                "`{}` takes {}, and {} came",
                entry.name,
                counted(entry.params.len(), "argument"),
                args.len()
            ),
        )
        .note(format!("entry {} {}", entry.name, wanted.join(" ")))
        .help("put arrays, tuples and anything with blanks between quotes"));
    }
    if args.iter().filter(|arg| arg.as_str() == "-").count() > 1 {
        return Err(complaint(
            codes::STDIN_TWICE,
            "only one argument can be read from standard input",
        ));
    }
    // Sizes of one name are one size, in all arguments.
    let mut sizes = Sizes::default();
    let mut values = Vec::new();
    for (at, ((name, ty), arg)) in entry.params.iter().zip(args).enumerate() {
        let value = read(at + 1, name, ty, plain(arg))?;
        conforms_with(&value, ty, &mut sizes).map_err(|wrong| {
            complaint(
                codes::BAD_ARGUMENT,
                format!("argument {} does not fit the parameter `{name}: {ty}`", at + 1),
            )
            .note(wrong.to_string())
        })?;
        values.push(value);
    }
    Ok(values)
}

fn read(number: usize, name: &Name, ty: &ValueType, arg: &str) -> Result<Value, Diagnostic> {
    let expected =
        |error: Diagnostic| error.note(format!("argument {number} is for the parameter `{name}: {ty}`"));
    if arg == "-" {
        let bytes = files::read(Path::new("-"))?;
        return decode(sniff(&bytes), bytes, ty, Path::new("standard input")).map_err(expected);
    }
    match format_of(arg) {
        Some(format) => decode(format, files::read(Path::new(arg))?, ty, Path::new(arg)).map_err(expected),
        None => parse(arg, ty).map_err(|error| {
            complaint(
                codes::BAD_ARGUMENT,
                format!("argument {number} does not fit the parameter `{name}: {ty}`"),
            )
            .note(error.to_string())
        }),
    }
}

/// Standard input has no ending: binary formats say what they are, the rest is text.
fn sniff(bytes: &[u8]) -> Format {
    match bytes {
        [0x93, b'N', b'U', b'M', ..] => Format::Npy,
        [b'P', b'K', ..] => Format::Npz,
        _ => Format::Text,
    }
}

fn decode(format: Format, bytes: Vec<u8>, ty: &ValueType, path: &Path) -> Result<Value, Diagnostic> {
    let read = match format {
        Format::Npy => formats::read_npy(&bytes, ty),
        Format::Npz => formats::read_npz(&bytes, ty),
        Format::Json => formats::read_json(&bytes, ty),
        Format::Text => formats::read_text(&bytes, ty),
    };
    read.map_err(|error| error.diagnostic(&path.display().to_string()))
}

/// The bytes of a result file.
pub fn encode(path: &Path, value: &Value, ty: &ValueType) -> Result<Vec<u8>, Diagnostic> {
    let shown = path.display().to_string();
    let written = match path.to_str().and_then(format_of) {
        Some(Format::Npy) => formats::write_npy(value, ty),
        Some(Format::Npz) => formats::write_npz(value, ty),
        Some(Format::Json) => formats::write_json(value, ty),
        Some(Format::Text) => formats::write_text(value, ty),
        None => {
            return Err(complaint(
                codes::UNKNOWN_FORMAT,
                format!("no format goes with the name `{shown}`"),
            )
            .help("end the name in .json or .txt, which hold every value, or in .npy or .npz"));
        }
    };
    written.map_err(|error| error.diagnostic(&shown))
}
