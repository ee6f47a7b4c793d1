//! What can be written behind an operation: `map@par@D`, `scan@seq`, `map@grid.1`, `scan@par@4096`.

use std::fmt;
use std::num::NonZeroU32;

/// Which workers run an operation (design, section 3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Level {
    Seq,
    Vec,
    Par,
    /// GPU: all work-items, by dimension 0, 1 or 2.
    Grid(u8),
    Group(u8),
    Local(u8),
}

/// How an operation meets memory (Lin, chapter 4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Effect {
    Source,
    Destination,
    Eager,
}

/// How an operation whose iterations communicate cuts its work, `scan@par@4096`. What a float rounds to depends on it, so
/// it is part of the program that the interpreter runs (`docs/collectives.md` says what each of these means):
///
/// - `scan`, `scan_exclusive`, `scan_rows`, `scan_rows_exclusive`: so many elements are combined on their own, then with all that come before;
/// - `reduce_by_index`: so many parts have bins of their own, where the bins are few;
/// - `filter`, `partition`: so many elements are tested at a time, which no value depends on.
pub type Chunk = NonZeroU32;

/// What the user (or the strategy pass) fixed on one operation. Erasing it changes no value, but that an operator which is
/// only nearly associative (`+` of floats) is grouped otherwise without a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Annotation {
    pub level: Option<Level>,
    pub effect: Option<Effect>,
    /// None: in order, from left to right.
    pub chunk: Option<Chunk>,
}

impl Annotation {
    pub const NONE: Annotation = Annotation {
        level: None,
        effect: None,
        chunk: None,
    };

    pub fn is_none(self) -> bool {
        self == Annotation::NONE
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dimension = |f: &mut fmt::Formatter<'_>, name: &str, dim: u8| match dim {
            0 => write!(f, "{name}"),
            _ => write!(f, "{name}.{dim}"),
        };
        match *self {
            Level::Seq => write!(f, "seq"),
            Level::Vec => write!(f, "vec"),
            Level::Par => write!(f, "par"),
            Level::Grid(dim) => dimension(f, "grid", dim),
            Level::Group(dim) => dimension(f, "group", dim),
            Level::Local(dim) => dimension(f, "local", dim),
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Effect::Source => "S",
            Effect::Destination => "D",
            Effect::Eager => "E",
        })
    }
}

impl fmt::Display for Annotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(level) = self.level {
            write!(f, "@{level}")?;
        }
        if let Some(chunk) = self.chunk {
            write!(f, "@{chunk}")?;
        }
        if let Some(effect) = self.effect {
            write!(f, "@{effect}")?;
        }
        Ok(())
    }
}
