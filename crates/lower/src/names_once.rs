//! Every name of a procedure bound once (DPIA-08), also where the translation used a phrase twice.
//!
//! ```text
//! f (map (\at. P) xs) (map (\at. P) xs)   ~~>   f (map (\at. P) xs) (map (\at_c1. P[at_c1/at]) xs)
//! ```
//!
//! A view that is read in two places is the same phrase in both, with the same names for what it binds. Removes: a second
//! binding of a name. Introduces: nothing. Guarantees: the same phrases up to names of bound variables.

use almach_base::Name;
use almach_dpia::{Data, Home, Kind, Nat, Phrase, Prim, Program, Substitution};
use std::collections::{HashMap, HashSet};

pub(crate) fn names_once(program: &mut Program) {
    let mut renamer = Renamer::default();
    // Names of procedures are taken.
    renamer
        .bound
        .extend(program.procs.iter().map(|proc| proc.name.clone()));
    for proc in &mut program.procs {
        renamer.phrase(&mut proc.body);
    }
}

#[derive(Default)]
struct Renamer {
    /// Everything that was bound so far.
    bound: HashSet<Name>,
    /// The new names of what is in scope.
    names: HashMap<Name, Name>,
    types: Substitution,
    next: usize,
}

impl Renamer {
    fn phrase(&mut self, phrase: &mut Phrase) {
        match phrase {
            Phrase::Var(name) => {
                if let Some(new) = self.names.get(name) {
                    *name = new.clone();
                }
            }
            Phrase::Prim(instance) => {
                if let Prim::NewIn(homes) = &mut instance.prim {
                    homes.iter_mut().for_each(|home| self.home(home));
                }
                instance.nats.iter_mut().for_each(|nat| self.nat(nat));
                instance.datas.iter_mut().for_each(|data| self.data(data));
            }
            Phrase::Lam(name, ty, body) => {
                if self.renames_types() {
                    **ty = ty.subst(&self.types);
                }
                let old = name.clone();
                *name = self.bind(&old);
                // A name that is kept hides a renamed one of an outer scope.
                let hidden = match *name == old {
                    true => self.names.remove(&old),
                    false => self.names.insert(old.clone(), name.clone()),
                };
                self.phrase(body);
                restore(&mut self.names, old, hidden);
            }
            Phrase::TypeLam(name, kind, body) => {
                let old = name.clone();
                *name = self.bind(&old);
                let new = (*name != old).then(|| name.clone());
                match kind {
                    Kind::Nat => {
                        let hidden = swap(&mut self.types.nats, &old, new.map(Nat::var));
                        self.phrase(body);
                        swap(&mut self.types.nats, &old, hidden);
                    }
                    Kind::Data => {
                        let hidden = swap(&mut self.types.datas, &old, new.map(Data::Var));
                        self.phrase(body);
                        swap(&mut self.types.datas, &old, hidden);
                    }
                }
            }
            Phrase::App(a, b) | Phrase::Pair(a, b) => {
                self.phrase(a);
                self.phrase(b);
            }
            Phrase::NatApp(inner, nat) => {
                self.phrase(inner);
                self.nat(nat);
            }
            Phrase::DataApp(inner, data) => {
                self.phrase(inner);
                self.data(data);
            }
            Phrase::Project(_, inner) | Phrase::At(_, inner) => self.phrase(inner),
        }
    }

    fn home(&self, home: &mut Home) {
        home.substitute(|name| self.names.get(name).cloned().map(Phrase::Var));
    }

    /// The name that a binder gets.
    fn bind(&mut self, name: &Name) -> Name {
        if self.bound.insert(name.clone()) {
            return name.clone();
        }
        loop {
            self.next += 1;
            let new = Name::from(format!("{name}_c{}", self.next));
            if self.bound.insert(new.clone()) {
                return new;
            }
        }
    }

    fn renames_types(&self) -> bool {
        !self.types.nats.is_empty() || !self.types.datas.is_empty()
    }

    fn nat(&self, nat: &mut Nat) {
        if self.renames_types() {
            *nat = almach_dpia::subst_nat(nat, &self.types);
        }
    }

    fn data(&self, data: &mut Data) {
        if self.renames_types() {
            *data = data.subst(&self.types);
        }
    }
}

fn restore(names: &mut HashMap<Name, Name>, name: Name, hidden: Option<Name>) {
    match hidden {
        Some(outer) => names.insert(name, outer),
        None => names.remove(&name),
    };
}

/// Sets or removes an entry; gives back what was there.
fn swap<T>(map: &mut std::collections::BTreeMap<Name, T>, name: &Name, value: Option<T>) -> Option<T> {
    match value {
        Some(value) => map.insert(name.clone(), value),
        None => map.remove(name),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use almach_dpia::{check_program, parse_program};

    #[test]
    fn a_view_may_be_read_twice() {
        let text = r"proc twice : (n: nat) -> exp[n.i64] -> acc[n.(i64, i64)] ->p comm =
  /\n: nat. \xs: exp[n.i64]. \out: acc[n.(i64, i64)].
    out := {n.(i64, i64)} zip<2>[n]{i64}{i64} (map<seq>[n]{i64}{i64} (\x: exp[i64]. add<i64> x x) xs) (map<seq>[n]{i64}{i64} (\x: exp[i64]. add<i64> x x) xs)";
        let mut program = parse_program(text).unwrap();
        assert!(check_program(program.clone()).is_err());
        names_once(&mut program);
        check_program(program.clone()).unwrap();
        let once = program.clone();
        names_once(&mut program);
        assert_eq!(once, program, "names that are bound once stay");
    }
}
