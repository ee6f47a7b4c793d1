//! Levels and effects, written on operations where they are allowed.

use super::Generator;

/// Stands for the `@` of an annotation, since `@` itself stands for the number of a program.
pub(super) const LEVEL_MARK: char = '¤';

/// The written level that is around an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Around {
    Nothing,
    Par,
    Vec,
    Grid,
    Group,
    Local,
}

impl Around {
    /// What may be written inside (`seq` and nothing at all always may).
    fn allowed(self) -> &'static [(&'static str, Around)] {
        match self {
            Around::Nothing => &[
                ("par", Around::Par),
                ("par", Around::Par),
                ("vec", Around::Vec),
                ("grid", Around::Grid),
                ("group", Around::Group),
            ],
            Around::Par | Around::Grid | Around::Local => &[("vec", Around::Vec)],
            Around::Group => &[("local", Around::Local)],
            Around::Vec => &[],
        }
    }
}

impl Generator {
    /// The annotation of an operation with a function, and what is around the function then.
    pub(super) fn level(&mut self) -> (String, Around) {
        match self.rng.below(10) {
            0 => (format!("{LEVEL_MARK}seq"), self.around),
            1 | 2 => match self.rng.pick(self.around.allowed()) {
                Some((name, inside)) => (format!("{LEVEL_MARK}{name}"), *inside),
                None => (String::new(), self.around),
            },
            3 if self.rng.chance(30) => (format!("{LEVEL_MARK}E"), self.around),
            _ => (String::new(), self.around),
        }
    }

    /// The annotation of an operation that talks between its iterations: threads or a loop.
    pub(super) fn level_of_collective(&mut self) -> (String, Around) {
        match (self.rng.below(10), self.around) {
            (0, _) => (format!("{LEVEL_MARK}seq"), self.around),
            (1 | 2, Around::Nothing) => (format!("{LEVEL_MARK}par"), Around::Par),
            (3, Around::Nothing) if self.rng.chance(50) => (format!("{LEVEL_MARK}group"), Around::Local),
            _ => (String::new(), self.around),
        }
    }

    /// A chunk on a reduction, scan, filter, partition or histogram: small ones, of which there are many.
    pub(super) fn chunk(&mut self) -> String {
        match self.rng.chance(20) {
            true => format!("{LEVEL_MARK}{}", 1 + self.rng.below(5)),
            false => String::new(),
        }
    }

    /// The annotation of an operation that only moves elements.
    pub(super) fn level_of_view(&mut self) -> String {
        match (self.rng.below(24), self.around) {
            (0, _) => format!("{LEVEL_MARK}seq"),
            (1, Around::Nothing) => format!("{LEVEL_MARK}par"),
            (2, _) => format!("{LEVEL_MARK}E"),
            (3, _) => format!("{LEVEL_MARK}S"),
            _ => String::new(),
        }
    }

    /// Builds a function's body at a level.
    pub(super) fn inside<T>(&mut self, around: Around, build: impl FnOnce(&mut Generator) -> T) -> T {
        let outer = std::mem::replace(&mut self.around, around);
        let built = build(self);
        self.around = outer;
        built
    }
}
