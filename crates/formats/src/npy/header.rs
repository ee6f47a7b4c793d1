//! The header of a `.npy` file: a Python dictionary such as
//! `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.

use crate::FormatError;

/// A longer header is no header that NumPy would write for an array of numbers.
const MAX_HEADER: usize = 65_536;
const MAGIC: &[u8] = b"\x93NUMPY";

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub descr: String,
    pub order: Order,
    pub shape: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// The last dimension varies fastest.
    C,
    /// The first dimension varies fastest.
    Fortran,
}

/// The header, and the bytes after it.
pub(super) fn read(bytes: &[u8]) -> Result<(Header, &[u8]), FormatError> {
    let truncated = || FormatError::malformed("the file ends inside the header of the .npy format");
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        let missing = MAGIC.starts_with(bytes);
        return Err(if missing {
            truncated()
        } else {
            FormatError::malformed("this is no .npy file: it does not start with \\x93NUMPY")
        });
    };
    let ([major, _minor], rest) = rest.split_first_chunk().ok_or_else(truncated)?;
    let (length, rest) = match major {
        1 => {
            let (length, rest) = rest.split_first_chunk().ok_or_else(truncated)?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        }
        2 | 3 => {
            let (length, rest) = rest.split_first_chunk().ok_or_else(truncated)?;
            (u32::from_le_bytes(*length) as usize, rest)
        }
        other => {
            return Err(FormatError::malformed(format!(
                "version {other} of the .npy format is not known; versions 1, 2 and 3 are"
            )));
        }
    };
    if length > MAX_HEADER {
        return Err(FormatError::malformed(format!(
            "the header claims to be {length} bytes long"
        )));
    }
    let (text, data) = rest.split_at_checked(length).ok_or_else(truncated)?;
    let text = std::str::from_utf8(text).map_err(|_| FormatError::malformed("the header is not text"))?;
    Ok((Parser { rest: text }.header()?, data))
}

/// The header NumPy would write, the data starting at a multiple of 64 bytes.
pub(super) fn write(descr: &str, shape: &[usize]) -> Vec<u8> {
    let mut sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    if shape.len() > 1 {
        sizes.truncate(sizes.len() - 2);
    } else {
        sizes.truncate(sizes.trim_end().len());
    }
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let fixed = MAGIC.len() + 2 + 2;
    while !(fixed + text.len() + 1).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    // The shape of an array of numbers is far from 64 KiB long.
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    bytes.extend([1, 0]);
    bytes.extend(length.to_le_bytes());
    bytes.extend(text.into_bytes());
    bytes
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn header(mut self) -> Result<Header, FormatError> {
        let (mut descr, mut order, mut shape) = (None, None, None);
        self.expect("{")?;
        while !self.eat("}") {
            let key = self.string()?;
            self.expect(":")?;
            match key {
                "descr" => descr = Some(self.descr()?.to_owned()),
                "fortran_order" => order = Some(self.order()?),
                "shape" => shape = Some(self.shape()?),
                other => return Err(self.wrong(&format!("the key '{other}' is not known"))),
            }
            if !self.eat(",") {
                self.expect("}")?;
                break;
            }
        }
        if !self.rest.trim().is_empty() {
            return Err(self.wrong("something follows the dictionary"));
        }
        let missing = |key: &str| FormatError::malformed(format!("the header has no '{key}'"));
        Ok(Header {
            descr: descr.ok_or_else(|| missing("descr"))?,
            order: order.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }

    fn wrong(&self, what: &str) -> FormatError {
        FormatError::malformed(format!("the header is damaged: {what}"))
    }

    fn eat(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<(), FormatError> {
        if self.eat(token) {
            return Ok(());
        }
        let found: String = self.rest.chars().take(12).collect();
        Err(self.wrong(&format!("expected `{token}`, found `{found}`")))
    }

    fn string(&mut self) -> Result<&'a str, FormatError> {
        let quote = if self.eat("'") {
            '\''
        } else if self.eat("\"") {
            '"'
        } else {
            return Err(self.wrong("expected a string"));
        };
        let (text, rest) = self
            .rest
            .split_once(quote)
            .ok_or_else(|| self.wrong("a string does not end"))?;
        self.rest = rest;
        Ok(text)
    }

    fn descr(&mut self) -> Result<&'a str, FormatError> {
        if self.eat("[") {
            return Err(FormatError::new(
                almach_base::codes::cli::ELEMENT_TYPE_MISMATCH,
                "the elements are records (a structured NumPy type), not numbers",
            )
            .help("save one array per field, for example with np.savez"));
        }
        self.string()
    }

    fn order(&mut self) -> Result<Order, FormatError> {
        if self.eat("False") {
            Ok(Order::C)
        } else if self.eat("True") {
            Ok(Order::Fortran)
        } else {
            Err(self.wrong("'fortran_order' is neither True nor False"))
        }
    }

    fn shape(&mut self) -> Result<Vec<usize>, FormatError> {
        let mut shape = Vec::new();
        self.expect("(")?;
        while !self.eat(")") {
            self.rest = self.rest.trim_start();
            let end = self
                .rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(self.rest.len());
            let (digits, rest) = self.rest.split_at(end);
            let size = digits
                .parse()
                .map_err(|_| self.wrong("a size in 'shape' is no number that fits"))?;
            // Python 2 wrote `3L`.
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            shape.push(size);
            if !self.eat(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(shape)
    }
}
