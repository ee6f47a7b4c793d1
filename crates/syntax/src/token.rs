//! Tokens: what the lexer hands to the parser.

use almach_base::{FileId, Span};

/// A token with its place. Its text is looked up in the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    pub kind: Tok,
    pub start: u32,
    pub end: u32,
    /// Whether anything stands between it and the token before: `a[i]` indexes, `a [i]` does not.
    pub spacing: Spacing,
}

/// What stands before a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spacing {
    Glued,
    Spaced,
    FirstOnLine,
}

impl Token {
    pub fn span(self, file: FileId) -> Span {
        Span {
            file,
            start: self.start,
            end: self.end,
        }
    }

    pub fn is_glued(self) -> bool {
        self.spacing == Spacing::Glued
    }
}

macro_rules! tokens {
    (
        classes { $($class:ident $description:literal,)* }
        keywords { $($keyword:ident $word:literal,)* }
        item_words { $($item:ident $item_word:literal,)* }
        symbols { $($symbol:ident $text:literal,)* }
    ) => {
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Tok { $($class,)* $($keyword,)* $($item,)* $($symbol,)* }

        impl Tok {
            /// What messages call it when no particular one is meant.
            pub fn describe(self) -> &'static str {
                match self {
                    $(Tok::$class => $description,)*
                    $(Tok::$keyword => concat!("`", $word, "`"),)*
                    $(Tok::$item => concat!("`", $item_word, "`"),)*
                    $(Tok::$symbol => concat!("`", $text, "`"),)*
                }
            }

            /// The word that is never a name.
            pub fn keyword(text: &str) -> Option<Tok> {
                match text {
                    $($word => Some(Tok::$keyword),)*
                    _ => None,
                }
            }

            /// The word that starts an item at the start of a line and is a name anywhere else.
            pub fn item_word(text: &str) -> Option<Tok> {
                match text {
                    $($item_word => Some(Tok::$item),)*
                    _ => None,
                }
            }

            pub fn is_keyword(self) -> bool {
                matches!(self, $(Tok::$keyword)|*)
            }
        }
    };
}

tokens! {
    classes {
        Lower "a name",
        Upper "a capitalised name",
        TypeVar "a type variable",
        Int "an integer",
        Float "a number",
        Str "a string",
        Char "a character",
        Error "text that is not Almach",
        Eof "the end of the input",
    }
    keywords {
        And "and",
        Assert "assert",
        Case "case",
        Def "def",
        Do "do",
        Else "else",
        False "false",
        For "for",
        Foreach "foreach",
        If "if",
        In "in",
        Let "let",
        Loop "loop",
        Of "of",
        Rec "rec",
        Then "then",
        Trace "trace",
        True "true",
        While "while",
        With "with",
        Underscore "_",
    }
    item_words {
        Data "data",
        Entry "entry",
        Foreign "foreign",
        Import "import",
        Type "type",
    }
    symbols {
        LParen "(",
        RParen ")",
        LBracket "[",
        RBracket "]",
        LBrace "{",
        RBrace "}",
        Comma ",",
        Dot ".",
        DotDot "..",
        Colon ":",
        Semicolon ";",
        Equals "=",
        Backslash "\\",
        Arrow "->",
        FatArrow "=>",
        At "@",
        Hash "#",
        Question "?",
        Bang "!",
        Tilde "~",
        StarStar "**",
        Star "*",
        Slash "/",
        Percent "%",
        Plus "+",
        Minus "-",
        Shl "<<",
        Shr ">>",
        Amp "&",
        Caret "^",
        Bar "|",
        PlusPlus "++",
        Coerce ":>",
        EqEq "==",
        NotEq "!=",
        Lt "<",
        Le "<=",
        Gt ">",
        Ge ">=",
        AndAnd "&&",
        OrOr "||",
        RangeTo "..<",
        PipeRight "|>",
        PipeLeft "<|",
    }
}

impl Tok {
    /// Whether an item can only start here: `def` anywhere, the item words where the lexer saw them at a line's start.
    pub fn starts_item(self) -> bool {
        matches!(
            self,
            Tok::Def | Tok::Data | Tok::Entry | Tok::Foreign | Tok::Import | Tok::Type
        )
    }

    pub fn closer(self) -> Option<Tok> {
        match self {
            Tok::LParen => Some(Tok::RParen),
            Tok::LBracket => Some(Tok::RBracket),
            Tok::LBrace => Some(Tok::RBrace),
            _ => None,
        }
    }

    pub fn is_closer(self) -> bool {
        matches!(self, Tok::RParen | Tok::RBracket | Tok::RBrace)
    }
}
