//! Reading and writing files, with errors people understand.

use crate::failure::complaint;
use almach_base::Diagnostic;
use almach_base::codes::cli as codes;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A file's bytes; `-` is standard input.
pub fn read(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let read = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    read.map_err(|error| {
        complaint(
            codes::UNREADABLE_FILE,
            format!("cannot read `{}`: {}", path.display(), reason(&error)),
        )
    })
}

/// A source file's text.
pub fn read_source(path: &Path) -> Result<String, Diagnostic> {
    text(path, read(path)?)
}

/// Bytes as text, or where they stop being UTF-8.
pub fn text(path: &Path, bytes: Vec<u8>) -> Result<String, Diagnostic> {
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = error
            .as_bytes()
            .iter()
            .take(good)
            .filter(|byte| **byte == b'\n')
            .count()
            + 1;
        complaint(codes::NOT_UTF8, format!("`{}` is not UTF-8 text", path.display()))
            .note(format!(
                "byte {good}, on line {line}, is where it stops being UTF-8"
            ))
            .help("save the file as UTF-8, or use .npy or .npz for binary data")
    })
}

/// Writes a whole file or nothing: a temporary file beside it is renamed over it when it is complete.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
    let failed = |error: std::io::Error| {
        complaint(
            codes::UNWRITABLE_FILE,
            format!("cannot write `{}`: {}", path.display(), reason(&error)),
        )
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}.tmp", std::process::id()));
    if !folder.is_dir() {
        let missing = format!(
            "cannot write `{}`: there is no folder `{}`",
            path.display(),
            folder.display()
        );
        return Err(complaint(codes::UNWRITABLE_FILE, missing));
    }
    std::fs::write(&temporary, bytes)
        .and_then(|()| std::fs::rename(&temporary, path))
        .map_err(|error| {
            let _ = std::fs::remove_file(&temporary);
            failed(error)
        })
}

/// The `.alm` and `.nova` files a user means: files as they are, folders searched all the way down, in order of name.
pub fn sources(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Diagnostic> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            in_folder(path, &mut found)?
        } else {
            found.push(path.clone())
        }
    }
    Ok(found)
}

fn in_folder(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Diagnostic> {
    let failed = |error: std::io::Error| {
        complaint(
            codes::UNREADABLE_FILE,
            format!("cannot list `{}`: {}", folder.display(), reason(&error)),
        )
    };
    let mut inside = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        inside.push(entry.map_err(failed)?.path());
    }
    inside.sort();
    for path in inside {
        if path.is_dir() {
            in_folder(&path, found)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "alm" || extension == "nova")
        {
            found.push(path);
        }
    }
    Ok(())
}

/// What the system said, in plain words where it is a common case.
pub fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        std::io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        std::io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        _ => error.to_string(),
    }
}
