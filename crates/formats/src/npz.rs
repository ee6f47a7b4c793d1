//! `.npz`: a zip archive of `.npy` files.

use crate::FormatError;
use crate::flat::{self, Members, Raw};
use crate::npy;
use almach_base::suggest::nearest;
use almach_value::{ScalarType, Value, ValueType};
use std::io::{Cursor, Read, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

const ENDING: &str = ".npy";
/// What NumPy calls an array without a name.
const UNNAMED: &str = "arr_0";

/// Reads the arrays of an archive as a value. Each array must have a place in the type.
pub fn read_npz(bytes: &[u8], ty: &ValueType) -> Result<Value, FormatError> {
    let archive = ZipArchive::new(Cursor::new(bytes))
        .map_err(|error| FormatError::malformed(format!("this is no .npz file: {error}")))?;
    let wanted: Vec<String> = flat::member_names(ty).into_iter().map(member_name).collect();
    let found = names(&archive);
    let mut archive = Archive {
        archive,
        only: match (wanted.as_slice(), found.as_slice()) {
            // A single array is itself, whatever its name.
            ([_], [only]) => Some(only.clone()),
            _ => None,
        },
    };
    if wanted.is_empty() {
        // What the formats have nothing for has no arrays.
        flat::read(ty, &mut archive)?;
    }
    if archive.only.is_none()
        && let Some(extra) = found.iter().find(|name| !wanted.contains(name))
    {
        return Err(extra_member(extra, &wanted, &found));
    }
    flat::read(ty, &mut archive)
}

/// Writes a value as the arrays it consists of, without compression.
pub fn write_npz(value: &Value, ty: &ValueType) -> Result<Vec<u8>, FormatError> {
    let failed = |error: &dyn std::fmt::Display| {
        FormatError::malformed(format!("the archive could not be written: {error}"))
    };
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    flat::write(value, ty, &mut |path, array| {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(array.buffer.len() >= 1 << 28);
        let name = format!("{}{ENDING}", member_name(path.to_owned()));
        archive
            .start_file(name, options)
            .map_err(|error| failed(&error))?;
        archive
            .write_all(&npy::write_raw(&array.shape, &array.buffer))
            .map_err(|error| failed(&error))
    })?;
    let cursor = archive.finish().map_err(|error| failed(&error))?;
    Ok(cursor.into_inner())
}

fn member_name(path: String) -> String {
    if path.is_empty() { UNNAMED.to_owned() } else { path }
}

/// The names of the arrays in an archive; one that is no text cannot be meant.
fn names(archive: &ZipArchive<Cursor<&[u8]>>) -> Vec<String> {
    archive
        .file_names()
        .flatten()
        .map(|name| name.strip_suffix(ENDING).unwrap_or(&name).to_owned())
        .collect()
}

fn extra_member(extra: &str, wanted: &[String], found: &[String]) -> FormatError {
    let missing = wanted.iter().filter(|name| !found.contains(name));
    let missing: Vec<&str> = missing.map(String::as_str).collect();
    let error = FormatError::malformed(format!(
        "the file holds `{extra}`, and the type has no place for it; expected {}",
        listed(wanted)
    ));
    match nearest(extra, missing) {
        Some(meant) => error.help(format!("should `{extra}` be named `{meant}`?")),
        None => error,
    }
}

fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.len() {
        0 => "nothing".to_owned(),
        _ => quoted.join(", "),
    }
}

struct Archive<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    /// The name of the only array, where both the file and the type have just one.
    only: Option<String>,
}

impl Members for Archive<'_> {
    fn array(&mut self, path: &str, ty: ScalarType) -> Result<Raw, FormatError> {
        let name = self.only.clone().unwrap_or_else(|| member_name(path.to_owned()));
        let file_name = format!("{name}{ENDING}");
        let at = (self.archive.index_for_name(&file_name)).or_else(|| self.archive.index_for_name(&name));
        let Some(at) = at else {
            let found = names(&self.archive);
            return Err(FormatError::malformed(format!(
                "the file has no array `{name}`; it holds {}",
                listed(&found)
            )));
        };
        let damaged = |error: &dyn std::fmt::Display| {
            FormatError::malformed(format!("the array `{name}` cannot be unpacked: {error}"))
        };
        let member = self.archive.by_index(at).map_err(|error| damaged(&error))?;
        // The size in the directory may lie: memory grows only with what was unpacked, and stops one byte later.
        let limit = member.size().saturating_add(1);
        let mut bytes = Vec::new();
        member
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(|error| damaged(&error))?;
        npy::read_raw(&bytes, ty)
    }
}
