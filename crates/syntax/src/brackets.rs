//! Which bracket closes which, found once for the whole file. Recovery from an error inside brackets jumps to the
//! partner, and a bracket without one is reported where it opened.

use crate::token::{Tok, Token};

/// Marks a bracket without a partner, and tokens that are no brackets.
pub const NONE: u32 = u32::MAX;

/// For every token the index of its partner. An item's start closes everything before it.
pub fn partners(tokens: &[Token]) -> Vec<u32> {
    let mut partners = vec![NONE; tokens.len()];
    let mut open: Vec<usize> = Vec::new();
    let mut waiting = Waiting::default();
    for (at, token) in tokens.iter().enumerate() {
        let kind = token.kind;
        if kind.starts_item() {
            open.clear();
            waiting = Waiting::default();
        } else if kind.closer().is_some() {
            open.push(at);
            *waiting.count(kind) += 1;
        } else if kind.is_closer() && *waiting.count(kind) > 0 {
            // The innermost opener of this kind; those opened after it are never closed.
            while let Some(opener) = open.pop() {
                let opened = tokens.get(opener).map_or(Tok::Eof, |token| token.kind);
                *waiting.count(opened) -= 1;
                if opened.closer() == Some(kind) {
                    set(&mut partners, opener, at);
                    set(&mut partners, at, opener);
                    break;
                }
            }
        }
    }
    partners
}

fn set(partners: &mut [u32], at: usize, partner: usize) {
    if let Some(slot) = partners.get_mut(at) {
        *slot = partner as u32;
    }
}

/// How many brackets of each kind are open.
#[derive(Default)]
struct Waiting {
    parens: usize,
    brackets: usize,
    braces: usize,
}

impl Waiting {
    fn count(&mut self, kind: Tok) -> &mut usize {
        match kind {
            Tok::LParen | Tok::RParen => &mut self.parens,
            Tok::LBracket | Tok::RBracket => &mut self.brackets,
            _ => &mut self.braces,
        }
    }
}
