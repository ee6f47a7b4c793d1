//! What can be written behind an operation: `map@par@D`, `scan@seq`, `map@grid.1`.

use std::fmt;

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

/// What the user (or the strategy pass) fixed on one operation. Erasing it changes no value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Annotation {
    pub level: Option<Level>,
    pub effect: Option<Effect>,
}

impl Annotation {
    pub const NONE: Annotation = Annotation {
        level: None,
        effect: None,
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
        if let Some(effect) = self.effect {
            write!(f, "@{effect}")?;
        }
        Ok(())
    }
}
