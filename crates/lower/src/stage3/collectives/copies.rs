//! Copies of functions: a mechanism runs its operator in several places, and Imp binds every name once.

use super::super::Generator;
use almach_base::Name;
use almach_dpia::{Instance, Kind, Nat, Phrase, Substitution, subst_nat};
use std::collections::HashMap;

impl Generator<'_> {
    /// The same phrase with new names for all that it binds.
    pub(super) fn copy_of(&mut self, phrase: &Phrase) -> Phrase {
        self.copied(phrase, &mut HashMap::new(), &mut Substitution::default())
    }

    fn copied(
        &mut self,
        phrase: &Phrase,
        names: &mut HashMap<Name, Name>,
        sizes: &mut Substitution,
    ) -> Phrase {
        match phrase {
            Phrase::Var(name) => Phrase::Var(names.get(name).unwrap_or(name).clone()),
            Phrase::Prim(instance) => {
                let Instance { prim, nats, datas } = &**instance;
                let nats = nats.iter().map(|nat| subst_nat(nat, sizes)).collect();
                let datas = datas.iter().map(|data| data.subst(sizes)).collect();
                Phrase::prim(prim.clone(), nats, datas)
            }
            Phrase::Lam(name, ty, body) => {
                let ty = ty.subst(sizes);
                let new = self.fresh(name);
                names.insert(name.clone(), new.clone());
                Phrase::lam(new, ty, self.copied(body, names, sizes))
            }
            Phrase::TypeLam(name, kind, body) => {
                let new = self.fresh(name);
                if *kind == Kind::Nat {
                    sizes.nats.insert(name.clone(), Nat::var(new.clone()));
                }
                Phrase::TypeLam(new, *kind, Box::new(self.copied(body, names, sizes)))
            }
            Phrase::App(function, argument) => {
                let function = self.copied(function, names, sizes);
                function.app(self.copied(argument, names, sizes))
            }
            Phrase::NatApp(inner, nat) => {
                let nat = subst_nat(nat, sizes);
                Phrase::NatApp(Box::new(self.copied(inner, names, sizes)), nat)
            }
            Phrase::DataApp(inner, data) => {
                let data = data.subst(sizes);
                Phrase::DataApp(Box::new(self.copied(inner, names, sizes)), data)
            }
            Phrase::Pair(left, right) => {
                let left = self.copied(left, names, sizes);
                Phrase::pair(left, self.copied(right, names, sizes))
            }
            Phrase::Project(side, inner) => {
                Phrase::Project(*side, Box::new(self.copied(inner, names, sizes)))
            }
            Phrase::At(span, inner) => Phrase::At(*span, Box::new(self.copied(inner, names, sizes))),
        }
    }
}
