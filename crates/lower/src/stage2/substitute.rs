//! Substitution of a phrase for a name. Names are bound once, so nothing is captured.

use almach_base::Name;
use almach_dpia::{Phrase, Prim};

pub(crate) fn substitute(phrase: &Phrase, name: &Name, by: &Phrase) -> Phrase {
    let go = |inner: &Phrase| Box::new(substitute(inner, name, by));
    match phrase {
        Phrase::Var(found) if found == name => by.clone(),
        Phrase::Var(_) => phrase.clone(),
        Phrase::Prim(instance) => {
            let mut instance = instance.clone();
            if let Prim::NewIn(homes) = &mut instance.prim {
                for home in homes {
                    home.substitute(|found| (found == name).then(|| by.clone()));
                }
            }
            Phrase::Prim(instance)
        }
        Phrase::Lam(bound, ty, body) => Phrase::Lam(bound.clone(), ty.clone(), go(body)),
        Phrase::App(function, argument) => Phrase::App(go(function), go(argument)),
        Phrase::TypeLam(bound, kind, body) => Phrase::TypeLam(bound.clone(), *kind, go(body)),
        Phrase::NatApp(inner, nat) => Phrase::NatApp(go(inner), nat.clone()),
        Phrase::DataApp(inner, data) => Phrase::DataApp(go(inner), data.clone()),
        Phrase::Pair(left, right) => Phrase::Pair(go(left), go(right)),
        Phrase::Project(side, inner) => Phrase::Project(*side, go(inner)),
        Phrase::At(span, inner) => Phrase::At(*span, go(inner)),
    }
}
