//! Memory that is being changed: with tables of what is where, so that a step looks only at what it concerns, and with a way back.
//!
//! A pass takes one step after another, and most programs are long rather than deep. A step that walked the program, or copied all of
//! memory to try something, would make a pass quadratic; here it finds the arrays of a block, whoever hands a block on, and whatever
//! reads from it by looking them up.

mod aliases;
mod meetings;
mod reads;

use crate::derive::{Derived, derive};
use crate::index::{Index, Moment, StmtInfo};
use crate::ir::{Alloc, Given, Head, Item, Kind, Memory, Storage};
use almach_core::visit::Vars;
use almach_core::{Atom, Exp, Var};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Deref;

pub struct Draft<'i, 'p> {
    index: &'i Index<'p>,
    memory: Memory,
    /// The variables that have a leaf in a block.
    placed: HashMap<Var, BTreeSet<Var>>,
    /// The statement before which a block is made.
    made: HashMap<Var, Var>,
    /// The statement that binds a block or integer beside its pattern.
    bound: HashMap<Var, Var>,
    givers: HashMap<Var, BTreeSet<Giver>>,
    /// The views that are computed from a variable.
    views: HashMap<Var, Vec<Var>>,
    /// The calls that take a variable.
    calls: HashMap<Var, Vec<usize>>,
    /// The statements whose value is where their operands are.
    derived: HashSet<usize>,
    /// Blocks and integers that functions take.
    context: HashMap<Var, Kind>,
    journal: Vec<Change>,
}

/// Who hands a block on.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Giver {
    Statement(Var),
    Function(usize),
}

/// What was there before a change.
enum Change {
    Storage(Var, Option<Vec<Storage>>),
    Allocs(Var, Option<Vec<Alloc>>),
    Head(Var, Option<Head>),
    Results(usize, Vec<Item>),
    Fresh(u32),
}

/// A moment of a draft to go back to.
#[derive(Clone, Copy, Debug)]
pub struct Mark(usize);

/// What a draft has changed since a moment.
#[derive(Default, Debug)]
pub struct Changed {
    pub arrays: BTreeSet<Var>,
    /// Statements whose head is another.
    pub heads: BTreeSet<Var>,
}

impl Deref for Draft<'_, '_> {
    type Target = Memory;
    fn deref(&self) -> &Memory {
        &self.memory
    }
}

impl<'i, 'p> Draft<'i, 'p> {
    pub fn new(index: &'i Index<'p>, memory: Memory) -> Draft<'i, 'p> {
        let functions = memory.functions.iter();
        let context = functions.flat_map(|function| function.context.iter().cloned());
        let mut draft = Draft {
            index,
            context: context.collect(),
            memory: Memory::default(),
            placed: HashMap::new(),
            made: HashMap::new(),
            bound: HashMap::new(),
            givers: HashMap::new(),
            views: HashMap::new(),
            calls: HashMap::new(),
            derived: HashSet::new(),
            journal: Vec::new(),
        };
        for (var, storage) in &memory.storage {
            draft.link_storage(var, storage);
        }
        for (before, allocs) in &memory.allocs {
            let made = allocs.iter().map(|alloc| (alloc.block.clone(), before.clone()));
            draft.made.extend(made);
        }
        for (stmt, head) in &memory.heads {
            draft.link_head(stmt, head);
        }
        for (id, function) in memory.functions.iter().enumerate() {
            draft.link_given(&function.results, &Giver::Function(id));
        }
        draft.memory = memory;
        for (at, info) in index.stmts.iter().enumerate() {
            draft.note_statement(at, info);
        }
        draft
    }

    /// What no pass changes.
    fn note_statement(&mut self, at: usize, info: &StmtInfo<'_>) {
        if let Exp::Call { args, .. } = &info.stmt.exp {
            for arg in args {
                if let Atom::Var(var) = arg {
                    self.calls.entry(var.clone()).or_default().push(at);
                }
            }
        }
        let is_view = |var: &Var| {
            let storage = self.memory.storage.get(var);
            storage.is_some_and(|all| all.iter().any(|one| !one.is_in_blocks()))
        };
        let values = info.stmt.pattern.values.iter().map(|value| &value.var);
        let views: Vec<Var> = values.filter(|var| is_view(var)).cloned().collect();
        if !views.is_empty() {
            for var in Vars::of_exp(&info.stmt.exp).free() {
                self.views
                    .entry(var.clone())
                    .or_default()
                    .extend(views.iter().cloned());
            }
        }
        if let [value] = info.stmt.pattern.values.as_slice()
            && let Derived::Same(_) = derive(&info.stmt.exp, &value.ty, &self.memory, &self.index.env)
        {
            self.derived.insert(at);
        }
    }

    pub fn index(&self) -> &'i Index<'p> {
        self.index
    }

    pub fn into_memory(self) -> Memory {
        self.memory
    }

    pub fn mark(&self) -> Mark {
        Mark(self.journal.len())
    }

    /// Undoes everything since.
    pub fn rollback(&mut self, mark: Mark) {
        while self.journal.len() > mark.0 {
            match self.journal.pop() {
                Some(Change::Storage(var, storage)) => self.replace_storage(var, storage),
                Some(Change::Allocs(before, allocs)) => self.replace_allocs(before, allocs),
                Some(Change::Head(stmt, head)) => self.replace_head(stmt, head),
                Some(Change::Results(function, results)) => self.replace_results(function, results),
                Some(Change::Fresh(next)) => self.memory.next_var = next,
                None => return,
            }
        }
    }

    pub fn changed_since(&self, mark: Mark) -> Changed {
        let mut changed = Changed::default();
        for change in self.journal.iter().skip(mark.0) {
            match change {
                Change::Storage(var, before) if self.memory.storage.get(var) != before.as_ref() => {
                    changed.arrays.insert(var.clone());
                }
                Change::Head(stmt, _) => {
                    changed.heads.insert(stmt.clone());
                }
                Change::Storage(..) | Change::Allocs(..) | Change::Results(..) | Change::Fresh(_) => {}
            }
        }
        changed
    }

    pub fn fresh(&mut self, name: &str) -> Var {
        self.journal.push(Change::Fresh(self.memory.next_var));
        self.memory.fresh(name)
    }

    pub fn set_storage(&mut self, var: &Var, storage: Vec<Storage>) {
        let before = self.memory.storage.get(var).cloned();
        self.journal.push(Change::Storage(var.clone(), before));
        self.replace_storage(var.clone(), Some(storage));
    }

    pub fn set_allocs(&mut self, before: &Var, allocs: Vec<Alloc>) {
        let old = self.memory.allocs.get(before).cloned();
        self.journal.push(Change::Allocs(before.clone(), old));
        let allocs = (!allocs.is_empty()).then_some(allocs);
        self.replace_allocs(before.clone(), allocs);
    }

    /// A head with nothing in it is none.
    pub fn set_head(&mut self, stmt: &Var, head: Head) {
        let old = self.memory.heads.get(stmt).cloned();
        self.journal.push(Change::Head(stmt.clone(), old));
        let head = (head.index.is_some() || !head.items.is_empty()).then_some(head);
        self.replace_head(stmt.clone(), head);
    }

    pub fn set_results(&mut self, function: usize, results: Vec<Item>) {
        let old = self.memory.functions.get(function);
        let old = old.map_or_else(Vec::new, |memory| memory.results.clone());
        self.journal.push(Change::Results(function, old));
        self.replace_results(function, results);
    }

    pub fn add_alloc(&mut self, before: &Var, alloc: Alloc) {
        let mut allocs = self.memory.allocs.get(before).cloned().unwrap_or_default();
        allocs.push(alloc);
        self.set_allocs(before, allocs);
    }

    pub fn remove_alloc(&mut self, block: &Var) -> Option<Alloc> {
        let before = self.made.get(block)?.clone();
        let mut allocs = self.memory.allocs.get(&before)?.clone();
        let at = allocs.iter().position(|alloc| alloc.block == *block)?;
        let alloc = allocs.remove(at);
        self.set_allocs(&before, allocs);
        Some(alloc)
    }

    /// What is in a block, or hands it on, names another one.
    pub fn rename_block(&mut self, old: &Var, new: &Var) {
        self.move_arrays(old, new);
        self.rename_given(old, new);
    }

    /// What is in a block is in another one.
    pub fn move_arrays(&mut self, old: &Var, new: &Var) {
        for var in self.placed_in(old) {
            let mut storage = self.memory.storage.get(&var).cloned().unwrap_or_default();
            for one in &mut storage {
                one.rename_block(old, new);
            }
            self.set_storage(&var, storage);
        }
    }

    pub fn rename_given(&mut self, old: &Var, new: &Var) {
        let rename = |items: &mut [Item]| {
            for given in items.iter_mut().flat_map(|item| item.given.iter_mut()) {
                if matches!(given, Given::Block(block) if block == old) {
                    *given = Given::Block(new.clone());
                }
            }
        };
        for giver in self.givers(old) {
            match giver {
                Giver::Statement(stmt) => {
                    let mut head = self.memory.heads.get(&stmt).cloned().unwrap_or_default();
                    rename(&mut head.items);
                    self.set_head(&stmt, head);
                }
                Giver::Function(id) => {
                    let function = self.memory.functions.get(id);
                    let mut results = function.map_or_else(Vec::new, |function| function.results.clone());
                    rename(&mut results);
                    self.set_results(id, results);
                }
            }
        }
    }

    fn replace_storage(&mut self, var: Var, storage: Option<Vec<Storage>>) {
        if let Some(old) = self.memory.storage.remove(&var) {
            for block in blocks_of(&old) {
                if let Some(placed) = self.placed.get_mut(block) {
                    placed.remove(&var);
                }
            }
        }
        if let Some(storage) = storage {
            self.link_storage(&var, &storage);
            self.memory.storage.insert(var, storage);
        }
    }

    fn replace_allocs(&mut self, before: Var, allocs: Option<Vec<Alloc>>) {
        for alloc in self.memory.allocs.remove(&before).into_iter().flatten() {
            if self.made.get(&alloc.block) == Some(&before) {
                self.made.remove(&alloc.block);
            }
        }
        if let Some(allocs) = allocs {
            let made = allocs.iter().map(|alloc| (alloc.block.clone(), before.clone()));
            self.made.extend(made);
            self.memory.allocs.insert(before, allocs);
        }
    }

    fn replace_head(&mut self, stmt: Var, head: Option<Head>) {
        if let Some(old) = self.memory.heads.remove(&stmt) {
            for var in binders(&old) {
                self.bound.remove(var);
            }
            self.unlink_given(&old.items, &Giver::Statement(stmt.clone()));
        }
        if let Some(head) = head {
            self.link_head(&stmt, &head);
            self.memory.heads.insert(stmt, head);
        }
    }

    fn replace_results(&mut self, function: usize, results: Vec<Item>) {
        let giver = Giver::Function(function);
        let Some(memory) = self.memory.functions.get_mut(function) else {
            return;
        };
        let old = std::mem::replace(&mut memory.results, results.clone());
        self.unlink_given(&old, &giver);
        self.link_given(&results, &giver);
    }

    fn link_storage(&mut self, var: &Var, storage: &[Storage]) {
        for block in blocks_of(storage) {
            self.placed.entry(block.clone()).or_default().insert(var.clone());
        }
    }

    fn link_head(&mut self, stmt: &Var, head: &Head) {
        for var in binders(head) {
            self.bound.insert(var.clone(), stmt.clone());
        }
        self.link_given(&head.items, &Giver::Statement(stmt.clone()));
    }

    fn link_given(&mut self, items: &[Item], giver: &Giver) {
        for block in given_blocks(items) {
            self.givers
                .entry(block.clone())
                .or_default()
                .insert(giver.clone());
        }
    }

    fn unlink_given(&mut self, items: &[Item], giver: &Giver) {
        for block in given_blocks(items) {
            if let Some(givers) = self.givers.get_mut(block) {
                givers.remove(giver);
            }
        }
    }
}

/// Looking things up.
impl<'p> Draft<'_, 'p> {
    /// The variables that have a leaf in a block.
    pub fn placed_in(&self, block: &Var) -> Vec<Var> {
        self.placed
            .get(block)
            .map_or_else(Vec::new, |vars| vars.iter().cloned().collect())
    }

    /// Who hands a block on.
    pub fn givers(&self, block: &Var) -> Vec<Giver> {
        self.givers
            .get(block)
            .map_or_else(Vec::new, |givers| givers.iter().cloned().collect())
    }

    pub fn is_given(&self, block: &Var) -> bool {
        self.givers.get(block).is_some_and(|givers| !givers.is_empty())
    }

    pub fn times_given(&self, block: &Var) -> usize {
        let givers = self.givers.get(block).into_iter().flatten();
        let items = givers.flat_map(|giver| match giver {
            Giver::Statement(stmt) => self.memory.heads.get(stmt).map(|head| &head.items),
            Giver::Function(id) => self.memory.functions.get(*id).map(|function| &function.results),
        });
        let given = items.flat_map(|items| given_blocks(items));
        given.filter(|given| *given == block).count()
    }

    /// Whether anything is in a block, or hands it on.
    pub fn mentions(&self, block: &Var) -> bool {
        self.placed.get(block).is_some_and(|placed| !placed.is_empty()) || self.is_given(block)
    }

    /// The allocation of a block, and the statement before which it is.
    pub fn alloc(&self, block: &Var) -> Option<(&Alloc, &StmtInfo<'p>)> {
        let before = self.made.get(block)?;
        let mut allocs = self.memory.allocs.get(before)?.iter();
        Some((
            allocs.find(|alloc| alloc.block == *block)?,
            self.index.stmt_of(before)?,
        ))
    }

    /// The statement that binds a block or integer, and what it binds it as.
    pub fn item(&self, var: &Var) -> Option<(&Item, &StmtInfo<'p>)> {
        let stmt = self.bound.get(var)?;
        let mut items = self.memory.heads.get(stmt)?.items.iter();
        let item = items.find(|item| item.var == *var || item.inside.as_ref() == Some(var))?;
        Some((item, self.index.stmt_of(stmt)?))
    }

    /// The statement whose iterations a variable counts.
    pub fn counted(&self, var: &Var) -> Option<&StmtInfo<'p>> {
        let stmt = self.bound.get(var)?;
        let counts = self.memory.heads.get(stmt)?.index.as_ref() == Some(var);
        counts.then(|| self.index.stmt_of(stmt)).flatten()
    }

    /// What a function takes from its caller.
    pub fn taken(&self, var: &Var) -> Option<Kind> {
        self.context.get(var).copied()
    }

    /// When a variable of memory is bound.
    pub fn bound(&self, var: &Var) -> Option<Moment> {
        if let Some((_, info)) = self.alloc(var) {
            return Some(info.start);
        }
        if let Some((item, info)) = self.item(var) {
            return Some(match item.var == *var {
                true => info.end,
                false => info.start,
            });
        }
        if let Some(info) = self.counted(var) {
            return Some(info.start);
        }
        self.taken(var).map(|_| 0)
    }

    /// When any variable is bound.
    pub fn when(&self, var: &Var) -> Option<Moment> {
        self.bound(var).or_else(|| self.index.bound.get(var).copied())
    }

    /// Whether a statement's value is where its operands are.
    pub fn is_derived(&self, stmt: usize) -> bool {
        self.derived.contains(&stmt)
    }

    /// Everything whose elements are read from one of these blocks: what is in them, and views of that, by number.
    pub fn readers<'b>(&self, blocks: impl IntoIterator<Item = &'b Var>) -> BTreeSet<Var> {
        let placed = blocks.into_iter().filter_map(|block| self.placed.get(block));
        let mut found = BTreeSet::new();
        let mut open: Vec<&Var> = placed.flatten().collect();
        while let Some(var) = open.pop() {
            if found.insert(var.clone()) {
                open.extend(self.views.get(var).into_iter().flatten());
            }
        }
        found
    }

    /// What each view is computed from.
    pub fn viewed(&self) -> HashMap<&Var, Vec<&Var>> {
        let mut viewed: HashMap<&Var, Vec<&Var>> = HashMap::new();
        for (var, views) in &self.views {
            for view in views {
                viewed.entry(view).or_default().push(var);
            }
        }
        viewed
    }

    /// The blocks of what a call takes.
    fn argument_blocks(&self, stmt: &StmtInfo<'_>) -> Vec<Var> {
        match &stmt.stmt.exp {
            Exp::Call { args, .. } => {
                let storage = args.iter().flat_map(|arg| self.memory.of(arg));
                storage
                    .flat_map(Storage::homes)
                    .map(|home| home.block.clone())
                    .collect()
            }
            _ => Vec::new(),
        }
    }
}

/// What holds an item where it is given: inside a loop, or after a branch.
fn held(item: &Item) -> &Var {
    item.inside.as_ref().unwrap_or(&item.var)
}

fn binders(head: &Head) -> impl Iterator<Item = &Var> {
    let items = head.items.iter();
    let items = items.flat_map(|item| std::iter::once(&item.var).chain(&item.inside));
    items.chain(&head.index)
}

fn blocks_of(storage: &[Storage]) -> impl Iterator<Item = &Var> {
    storage.iter().flat_map(Storage::homes).map(|home| &home.block)
}

fn given_blocks(items: &[Item]) -> impl Iterator<Item = &Var> {
    let given = items.iter().flat_map(|item| &item.given);
    given.filter_map(|given| match given {
        Given::Block(block) => Some(block),
        Given::Alloc(_) | Given::Integer(_) | Given::Found => None,
    })
}
