//! The papers' names for operations at a level: `mapPar` is `map@par` (design, section 3).

use almach_prim::{Annotation, Chunk, Effect, Level};

/// The operation and the level that one of the papers' names stands for. `reduceSeq` is not among them: it is a
/// primitive of its own, with another type than `reduce`.
pub fn paper_name(name: &str) -> Option<(&'static str, Level)> {
    Some(match name {
        "mapSeq" => ("map", Level::Seq),
        "mapVec" => ("map", Level::Vec),
        "mapPar" => ("map", Level::Par),
        "reducePar" => ("reduce", Level::Par),
        "scanSeq" => ("scan", Level::Seq),
        _ => {
            let (stem, dimension) = match name.as_bytes().last() {
                Some(digit @ b'0'..=b'2') => (name.get(..name.len() - 1)?, digit - b'0'),
                _ => (name, 0),
            };
            let level = match stem {
                "mapGlobal" => Level::Grid(dimension),
                "mapWorkgroup" => Level::Group(dimension),
                "mapLocal" => Level::Local(dimension),
                _ => return None,
            };
            ("map", level)
        }
    })
}

/// What one `@word` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    Level(Level),
    Effect(Effect),
    Chunk(Chunk),
}

/// What a word says: levels (those with dimensions at dimension 0) and effects by name, chunks as a number.
pub fn annotation_word(word: &str) -> Option<Part> {
    Some(match word {
        "seq" => Part::Level(Level::Seq),
        "vec" => Part::Level(Level::Vec),
        "par" => Part::Level(Level::Par),
        "grid" => Part::Level(Level::Grid(0)),
        "group" => Part::Level(Level::Group(0)),
        "local" => Part::Level(Level::Local(0)),
        "S" => Part::Effect(Effect::Source),
        "D" => Part::Effect(Effect::Destination),
        "E" => Part::Effect(Effect::Eager),
        number => Part::Chunk(number.parse().ok()?),
    })
}

/// The level at another dimension; none where the level has no dimensions or the dimension is beyond 2.
pub fn at_dimension(level: Level, dimension: u32) -> Option<Level> {
    let dimension = u8::try_from(dimension).ok().filter(|dimension| *dimension <= 2)?;
    match level {
        Level::Grid(_) => Some(Level::Grid(dimension)),
        Level::Group(_) => Some(Level::Group(dimension)),
        Level::Local(_) => Some(Level::Local(dimension)),
        Level::Seq | Level::Vec | Level::Par => None,
    }
}

/// Adds one part; false where the annotation already says something of that kind.
pub fn add_part(annotation: &mut Annotation, part: Part) -> Result<(), &'static str> {
    match part {
        Part::Level(level) if annotation.level.is_none() => annotation.level = Some(level),
        Part::Effect(effect) if annotation.effect.is_none() => annotation.effect = Some(effect),
        Part::Chunk(chunk) if annotation.chunk.is_none() => annotation.chunk = Some(chunk),
        Part::Level(_) => return Err("level"),
        Part::Effect(_) => return Err("effect"),
        Part::Chunk(_) => return Err("chunk"),
    }
    Ok(())
}
