//! Copies of values with rows: only what bounds reach, in order, without gaps.
//!
//! ```text
//! total := 0; for n (\i. total := total + (end i - begin i));      count
//! fill cell total (\k rows. position := 0;
//!   for n (\i. out i := (position, …); rows from position on := row i; position := …))      write
//! ```
//!
//! The same walk writes to memory of a known size, or to a pool that grows as more rows arrive.

use super::bodies::component;
use super::checks::int;
use super::layout::{Held, Layout, Packed, Pool, ends};
use super::rows::{add, element_at, piece, subtract};
use super::types::ResultData;
use super::{Dest, Translator};
use crate::error::{Lowering, bug};
use almach_dpia::{Data, Nat, Phrase, PhraseType, Prim, Substitution, build};
use almach_value::ScalarType;

const I64: Data = Data::Scalar(ScalarType::I64);

/// Where the rows of a pool are written.
#[derive(Clone)]
pub(crate) struct Sink {
    /// How many elements there are already: a variable.
    pub(crate) position: Phrase,
    pub(crate) memory: Memory,
}

#[derive(Clone)]
pub(crate) enum Memory {
    /// An acceptor of that size, large enough.
    Fixed(Nat, Phrase),
    /// A variable `some k. k.δ` that grows.
    Growing(Phrase),
}

/// What a value's pools grow in.
pub(crate) struct Growing {
    pub(crate) layouts: Vec<Layout>,
    pub(crate) sinks: Vec<Sink>,
}

impl Translator<'_> {
    /// A variable that starts with a value.
    fn new_number(&mut self, stem: &str, value: Phrase) -> Phrase {
        let var = self.new_var(stem, &I64);
        self.push(build::assign(I64, var.clone().writer(), value));
        var
    }

    /// The value under names, so that it may be walked more than once.
    fn named(&mut self, held: &Held) -> Held {
        let data = self.let_exp("value", &held.layout.data(), held.data.clone());
        let pools = held.pools.iter().map(|pool| Pool {
            elements: self.let_exp(
                "pool",
                &Data::array(pool.size.clone(), pool.element.clone()),
                pool.elements.clone(),
            ),
            ..pool.clone()
        });
        let pools = pools.collect();
        Held {
            data,
            pools,
            ..held.clone()
        }
    }

    /// How many elements each pool of a packed copy has.
    fn packed_sizes(&mut self, held: &Held) -> Lowering<Vec<Nat>> {
        if held.packed == Packed::Yes {
            return Ok(held.pools.iter().map(|pool| pool.size.clone()).collect());
        }
        let totals: Vec<Phrase> = (0..held.pools.len())
            .map(|_| self.new_number("total", int(0)))
            .collect();
        self.count_rows(&held.layout, &held.data, &held.pools, &totals)?;
        Ok(totals
            .into_iter()
            .map(|total| self.let_nat("total", total.reader()))
            .collect())
    }

    fn count_rows(
        &mut self,
        layout: &Layout,
        data: &Phrase,
        pools: &[Pool],
        totals: &[Phrase],
    ) -> Lowering<()> {
        match layout {
            Layout::Plain(_) => Ok(()),
            Layout::Tuple(parts) => {
                let datas: Vec<Data> = parts.iter().map(Layout::data).collect();
                parts.iter().enumerate().try_for_each(|(at, part)| {
                    let component = build::get(at, &datas, data.clone());
                    self.count_rows(part, &component, pools, totals)
                })
            }
            Layout::Array(size, element) => self.each_element(size, element, data, |this, value| {
                this.count_rows(element, &value, pools, totals)
            }),
            Layout::Row(at, element) => {
                let (Some(pool), Some(total)) = (pools.get(*at), totals.get(*at)) else {
                    return bug("rows without a pool", self.span);
                };
                let (begin, end) = ends(data);
                let more = add(total.clone().reader(), subtract(end, begin));
                self.push(build::assign(I64, total.clone().writer(), more));
                self.each_of_row(pool, data, |this, value| {
                    this.count_rows(element, &value, pools, totals)
                })
            }
        }
    }

    /// Writes a value's data to an acceptor and its rows to sinks.
    pub(crate) fn write_held(&mut self, held: &Held, place: Phrase, sinks: &[Sink]) -> Lowering<()> {
        match held.packed {
            Packed::Yes => self.write_whole(held, place, sinks),
            Packed::No => self.write_rows(&held.layout, &held.data, &held.pools, place, sinks),
        }
    }

    /// A packed value: whole pools at a time.
    fn write_whole(&mut self, held: &Held, place: Phrase, sinks: &[Sink]) -> Lowering<()> {
        let mut by = Vec::new();
        for (pool, sink) in held.pools.iter().zip(sinks) {
            let at = self.new_number("at", sink.position.clone().reader());
            let end = add(at.clone().reader(), build::nat_value(pool.size.clone()));
            self.push(build::assign(I64, sink.position.clone().writer(), end));
            by.push(at.reader());
        }
        let data = self.shifted(&held.layout, held.data.clone(), &by);
        self.push(build::assign(held.layout.data(), place, data));
        let layouts = held.layout.pools();
        for (((pool, sink), layout), at) in held.pools.iter().zip(sinks).zip(layouts).zip(&by) {
            let array = Layout::array(pool.size.clone(), layout);
            let data = self.shifted(&array, pool.elements.clone(), &by);
            let count = pool.size.clone();
            self.reserve(sink, &pool.element, at.clone(), count, |this, place| {
                this.push(build::assign(array.data(), place, data));
                Ok(())
            })?;
        }
        Ok(())
    }

    fn write_rows(
        &mut self,
        layout: &Layout,
        data: &Phrase,
        pools: &[Pool],
        place: Phrase,
        sinks: &[Sink],
    ) -> Lowering<()> {
        match layout {
            Layout::Plain(plain) => {
                self.push(build::assign(plain.clone(), place, data.clone()));
                Ok(())
            }
            Layout::Tuple(parts) => {
                let datas: Vec<Data> = parts.iter().map(Layout::data).collect();
                parts.iter().enumerate().try_for_each(|(at, part)| {
                    let component = build::get(at, &datas, data.clone());
                    let place = build::tuple_acc(at, &datas, place.clone());
                    self.write_rows(part, &component, pools, place, sinks)
                })
            }
            Layout::Array(size, element) => self.write_each(size, element, data, pools, place, sinks),
            Layout::Row(at, element) => {
                let (Some(pool), Some(sink)) = (pools.get(*at), sinks.get(*at)) else {
                    return bug("rows without a pool", self.span);
                };
                let written = self.block(|this| {
                    let (begin, end) = ends(data);
                    let begin = this.let_exp("begin", &I64, begin);
                    let count = this.let_nat("count", subtract(end, begin.clone()));
                    this.place_row(sink, element, &count, place, |this, room| {
                        this.write_row((pool, begin), element, &count, pools, room, sinks)
                    })
                })?;
                self.push(written);
                Ok(())
            }
        }
    }

    /// Bounds for a row behind those before it, and room for its elements.
    pub(crate) fn place_row(
        &mut self,
        sink: &Sink,
        element: &Layout,
        count: &Nat,
        place: Phrase,
        body: impl FnOnce(&mut Self, Phrase) -> Lowering<()>,
    ) -> Lowering<()> {
        let at = self.new_number("at", sink.position.clone().reader());
        let end = add(at.clone().reader(), build::nat_value(count.clone()));
        let parts = [I64, I64];
        for (part, value) in [(0, at.clone().reader()), (1, end.clone())] {
            let place = build::tuple_acc(part, &parts, place.clone());
            self.push(build::assign(I64, place, value));
        }
        self.push(build::assign(I64, sink.position.clone().writer(), end));
        self.reserve(sink, &element.data(), at.reader(), count.clone(), body)
    }

    fn write_each(
        &mut self,
        size: &Nat,
        element: &Layout,
        data: &Phrase,
        pools: &[Pool],
        place: Phrase,
        sinks: &[Sink],
    ) -> Lowering<()> {
        let i = self.fresh("i");
        let index = Phrase::Var(i.clone());
        let value = build::idx(size.clone(), element.data(), data.clone(), index.clone());
        let place = build::idx_acc(size.clone(), element.data(), place, index);
        let body = self.block(|this| this.write_rows(element, &value, pools, place, sinks))?;
        self.push(build::for_loop(size.clone(), i, body));
        Ok(())
    }

    /// The elements of a row to a place that takes that many.
    fn write_row(
        &mut self,
        (pool, begin): (&Pool, Phrase),
        element: &Layout,
        count: &Nat,
        pools: &[Pool],
        place: Phrase,
        sinks: &[Sink],
    ) -> Lowering<()> {
        if !element.has_rows() {
            let data = Data::array(count.clone(), pool.element.clone());
            self.push(build::assign(data, place, piece(pool, begin, count.clone())));
            return Ok(());
        }
        let j = self.fresh("j");
        let index = Phrase::Var(j.clone());
        let number = build::of_index(count.clone(), index.clone());
        let value = element_at(pool, add(begin, number));
        let place = build::idx_acc(count.clone(), pool.element.clone(), place, index);
        let body = self.block(|this| this.write_rows(element, &value, pools, place, sinks))?;
        self.push(build::for_loop(count.clone(), j, body));
        Ok(())
    }

    /// Room for so many elements behind those that are there.
    fn reserve(
        &mut self,
        sink: &Sink,
        element: &Data,
        at: Phrase,
        count: Nat,
        body: impl FnOnce(&mut Self, Phrase) -> Lowering<()>,
    ) -> Lowering<()> {
        match &sink.memory {
            Memory::Fixed(size, acceptor) => {
                let nats = vec![size.clone(), count];
                let room = Phrase::prim(Prim::SliceAcc, nats, vec![element.clone()]).apply([
                    at,
                    int(1),
                    acceptor.clone(),
                ]);
                body(self, room)
            }
            Memory::Growing(var) => {
                let (size, place) = (self.fresh("more"), self.fresh("room"));
                let room = Nat::var(size.clone());
                let acceptor = Phrase::Var(place.clone());
                // What the caller calls the size, and what `append` does, are one number.
                let from = Data::array(count.clone(), element.clone());
                let to = Data::array(room, element.clone());
                let acceptor = Phrase::prim(Prim::CoerceAcc, vec![], vec![from, to.clone()]).app(acceptor);
                let body = self.block(|this| body(this, acceptor))?;
                let body = Phrase::nat_lam(size, Phrase::lam(place, PhraseType::Acc(to), body));
                let append = Phrase::prim(Prim::Append, vec![], vec![element.clone()]);
                self.push(append.apply([var.clone(), build::nat_value(count), body]));
                Ok(())
            }
        }
    }

    /// Sinks for memory of exactly the size that is needed.
    fn fixed_sinks(&mut self, places: Vec<(Nat, Phrase)>) -> Vec<Sink> {
        let sinks = places.into_iter().map(|(size, place)| Sink {
            position: self.new_number("position", int(0)),
            memory: Memory::Fixed(size, place),
        });
        sinks.collect()
    }

    /// A packed value: this one, or a copy in new variables.
    pub(crate) fn pack(&mut self, held: Held) -> Lowering<Held> {
        match held.packed {
            Packed::Yes => Ok(held),
            Packed::No => Ok(self.copied(&held)?.read()),
        }
    }

    /// A packed copy in new variables.
    pub(crate) fn copied(&mut self, held: &Held) -> Lowering<Copied> {
        let held = self.named(held);
        let sizes = self.packed_sizes(&held)?;
        let data = self.new_var("packed", &held.layout.data());
        let mut pools = Vec::new();
        for (pool, size) in held.pools.iter().zip(&sizes) {
            let array = Data::array(size.clone(), pool.element.clone());
            pools.push((size.clone(), pool.element.clone(), self.new_var("pool", &array)));
        }
        let copy = Copied {
            layout: held.layout.clone(),
            data,
            pools,
        };
        self.write_copy(&held, copy.data.clone().writer(), &copy)?;
        Ok(copy)
    }

    fn write_copy(&mut self, held: &Held, place: Phrase, copy: &Copied) -> Lowering<()> {
        if held.packed == Packed::Yes {
            self.push(build::assign(held.layout.data(), place, held.data.clone()));
            for (pool, (size, element, var)) in held.pools.iter().zip(&copy.pools) {
                let array = Data::array(size.clone(), element.clone());
                self.push(build::assign(array, var.clone().writer(), pool.elements.clone()));
            }
            return Ok(());
        }
        let written = self.block(|this| {
            let places = copy
                .pools
                .iter()
                .map(|(size, _, var)| (size.clone(), var.clone().writer()));
            let sinks = this.fixed_sinks(places.collect());
            this.write_held(held, place, &sinks)
        })?;
        self.push(written);
        Ok(())
    }

    /// Puts values (and the sizes they come with) where they should go.
    pub(crate) fn give(&mut self, sizes: Vec<Nat>, values: Vec<Held>, dest: Dest) -> Lowering<()> {
        match dest {
            Dest::Each(acceptors) => {
                // The acceptor of a procedure without results takes nothing.
                for (held, acceptor) in values.into_iter().zip(acceptors) {
                    self.push(build::assign(held.layout.data(), acceptor, held.data));
                }
                Ok(())
            }
            Dest::Cell { acceptor, holds } => {
                let given = self.block(|this| this.give_to_cell(sizes, values, acceptor, &holds))?;
                self.push(given);
                Ok(())
            }
        }
    }

    fn give_to_cell(
        &mut self,
        mut sizes: Vec<Nat>,
        values: Vec<Held>,
        acceptor: Phrase,
        holds: &ResultData,
    ) -> Lowering<()> {
        let mut named = Vec::new();
        for held in values {
            let held = match held.packed {
                Packed::Yes => held,
                Packed::No => self.named(&held),
            };
            sizes.extend(self.packed_sizes(&held)?);
            named.push(held);
        }
        let layouts = holds.layouts.clone();
        let bound = holds.sizes.clone();
        self.fill(acceptor, holds, sizes, |this, names, contents, parts| {
            let mut renaming = Substitution::default();
            for (from, to) in bound.iter().zip(names) {
                renaming.nats.insert(from.clone(), Nat::var(to.clone()));
            }
            let count = parts.len();
            let mut next_pool = named.len();
            for (at, (held, layout)) in named.iter().zip(&layouts).enumerate() {
                // What a value is called outside is what it is inside: the sizes are equal.
                let held = this.renamed(held, &layout.subst(&renaming));
                let (place, _) = component(contents, &parts, at, count);
                let mut places = Vec::new();
                for _ in &held.pools {
                    places.push(component(contents, &parts, next_pool, count));
                    next_pool += 1;
                }
                this.give_one(&held, place, places)?;
            }
            Ok(())
        })
    }

    /// One value to acceptors of exactly its size.
    fn give_one(&mut self, held: &Held, place: Phrase, pools: Vec<(Phrase, Data)>) -> Lowering<()> {
        if held.packed == Packed::Yes {
            self.push(build::assign(held.layout.data(), place, held.data.clone()));
            for (pool, (place, data)) in held.pools.iter().zip(pools) {
                let from = Data::array(pool.size.clone(), pool.element.clone());
                let value = super::bodies::coerce(&from, &data, pool.elements.clone());
                self.push(build::assign(data, place, value));
            }
            return Ok(());
        }
        let mut places = Vec::new();
        for (place, data) in pools {
            match data {
                Data::Array(size, _) => places.push((size, place)),
                other => return bug(format!("a pool that is a `{other}`"), self.span),
            }
        }
        let sinks = self.fixed_sinks(places);
        self.write_held(held, place, &sinks)
    }

    /// Pools that grow, for values of a layout.
    pub(crate) fn growing(&mut self, layout: &Layout) -> Growing {
        let layouts = layout.pools();
        let mut sinks = Vec::new();
        for layout in &layouts {
            let name = self.fresh("rows");
            self.items.push(super::Item::NewGrowing {
                element: layout.data(),
                name: name.clone(),
            });
            sinks.push(Sink {
                position: self.new_number("position", int(0)),
                memory: Memory::Growing(Phrase::Var(name)),
            });
        }
        Growing { layouts, sinks }
    }

    /// What pools that have grown hold, for the rest of the block.
    pub(crate) fn grown(&mut self, growing: &Growing) -> Vec<Pool> {
        let mut pools = Vec::new();
        for (layout, sink) in growing.layouts.iter().zip(&growing.sinks) {
            let Memory::Growing(var) = &sink.memory else {
                continue;
            };
            let (size, contents) = (self.fresh("size"), self.fresh("pool"));
            self.items.push(super::Item::Open {
                cell: var.clone().reader(),
                data: growing_cell(&layout.data(), &size),
                sizes: vec![size.clone()],
                contents: contents.clone(),
            });
            pools.push(Pool {
                size: Nat::var(size),
                element: layout.data(),
                elements: Phrase::Var(contents),
            });
        }
        pools
    }
}

/// `some k. k.δ`.
fn growing_cell(element: &Data, size: &almach_base::Name) -> Data {
    let array = Data::array(Nat::var(size.clone()), element.clone());
    Data::Some(vec![size.clone()], Box::new(array))
}

/// A packed copy: variables.
pub(crate) struct Copied {
    pub(crate) layout: Layout,
    pub(crate) data: Phrase,
    /// Size, element and variable of each pool.
    pub(crate) pools: Vec<(Nat, Data, Phrase)>,
}

impl Copied {
    pub(crate) fn read(&self) -> Held {
        let pools = self.pools.iter().map(|(size, element, var)| Pool {
            size: size.clone(),
            element: element.clone(),
            elements: var.clone().reader(),
        });
        Held {
            layout: self.layout.clone(),
            data: self.data.clone().reader(),
            pools: pools.collect(),
            packed: Packed::Yes,
        }
    }
}
