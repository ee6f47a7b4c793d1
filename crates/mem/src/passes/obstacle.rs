//! Why an array is not put where a pass would like it to be.

use almach_base::Span;

/// What is in the way, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Obstacle {
    /// A sentence without its full stop.
    pub why: String,
    /// The use that is in the way, where it is one.
    pub read: Option<Span>,
    /// What would help.
    pub help: Option<String>,
}

impl Obstacle {
    pub fn at(mut self, read: Option<Span>) -> Obstacle {
        self.read = read.filter(|span| !span.is_none());
        self
    }

    pub fn help(mut self, help: impl Into<String>) -> Obstacle {
        self.help = Some(help.into());
        self
    }
}

impl From<String> for Obstacle {
    fn from(why: String) -> Obstacle {
        Obstacle {
            why,
            read: None,
            help: None,
        }
    }
}
