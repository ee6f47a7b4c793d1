//! Registers to slots, structured code to jumps.
//!
//! Linear scan over the order in which the code will stand: a register's slot is its own from the first to the last
//! mention, and to the end of every loop that mentions it from outside. Frames stay small, which is what makes deep
//! recursion cheap.

use super::code::{B, FunctionCode, Instr, Node, S, Use};
use super::lower::LoweredFunction;
use super::operands::Operands;
use almach_base::Name;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(super) fn allocate(name: Name, function: LoweredFunction, sharing: super::Slots) -> FunctionCode {
    let mut flat = Flatten::default();
    flat.block(function.block);
    let scalar_ranges = flat.ranges(|mentions| &mut mentions.scalars);
    let boxed_ranges = flat.ranges(|mentions| &mut mentions.boxed);
    let (scalars, boxed) = match sharing {
        super::Slots::Shared => (
            assign_slots(function.scalars, function.scalar_params, scalar_ranges),
            assign_slots(function.boxed, function.boxed_params, boxed_ranges),
        ),
        #[cfg(test)]
        super::Slots::Own => (own_slots(function.scalars), own_slots(function.boxed)),
    };
    let mut rename = Rename {
        scalars: &scalars.slots,
        boxed: &boxed.slots,
    };
    for instr in &mut flat.code {
        instr.visit(&mut rename);
    }
    FunctionCode {
        name,
        code: flat.code,
        scalar_slots: scalars.count,
        boxed_slots: boxed.count,
    }
}

/// The first and last position at which a register is needed.
#[derive(Clone, Copy)]
struct Range {
    reg: u32,
    start: u32,
    end: u32,
}

struct Slots {
    /// By register.
    slots: Vec<u32>,
    count: u32,
}

/// Parameters have the first slots, in order. A slot is free again after the last mention of its register.
fn assign_slots(registers: u32, params: u32, mut ranges: Vec<Range>) -> Slots {
    let mut slots = vec![0; registers as usize];
    let mut count = params;
    ranges.sort_unstable_by_key(|range| (range.start, range.reg));
    let mut busy: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
    let mut free: Vec<u32> = Vec::new();
    for (reg, slot) in slots.iter_mut().enumerate().take(params as usize) {
        *slot = reg as u32;
    }
    for range in &ranges {
        while let Some(Reverse((end, slot))) = busy.peek().copied() {
            if end >= range.start {
                break;
            }
            busy.pop();
            free.push(slot);
        }
        let slot = if range.reg < params {
            range.reg
        } else {
            free.pop().unwrap_or_else(|| {
                count += 1;
                count - 1
            })
        };
        if let Some(place) = slots.get_mut(range.reg as usize) {
            *place = slot;
        }
        busy.push(Reverse((range.end, slot)));
    }
    Slots { slots, count }
}

#[cfg(test)]
fn own_slots(registers: u32) -> Slots {
    Slots {
        slots: (0..registers).collect(),
        count: registers,
    }
}

/// Where registers of one file are mentioned.
#[derive(Default)]
struct File {
    /// By register: first and last position.
    ranges: Vec<Option<(u32, u32)>>,
    /// The register and the loop it comes into from outside.
    carried: Vec<(u32, usize)>,
}

impl File {
    fn mention(&mut self, reg: u32, at: u32, loops: &[OpenLoop], first_inner: impl Fn(&OpenLoop) -> u32) {
        let index = reg as usize;
        if self.ranges.len() <= index {
            self.ranges.resize(index + 1, None);
        }
        if let Some(range) = self.ranges.get_mut(index) {
            *range = Some(range.map_or((at, at), |(start, end)| (start.min(at), end.max(at))));
        }
        // The outermost loop it comes into from outside.
        if let Some(open) = loops.iter().find(|open| reg < first_inner(open)) {
            self.carried.push((reg, open.id));
        }
    }
}

#[derive(Default)]
struct Mentions {
    scalars: File,
    boxed: File,
}

struct OpenLoop {
    id: usize,
    first_scalar: u32,
    first_boxed: u32,
}

#[derive(Default)]
struct Flatten {
    code: Vec<Instr>,
    mentions: Mentions,
    loops: Vec<OpenLoop>,
    /// Where the code of each loop begins and ends.
    loop_ranges: Vec<(u32, u32)>,
}

/// Notes the operands of the instruction at a position.
struct Note<'a> {
    mentions: &'a mut Mentions,
    loops: &'a [OpenLoop],
    at: u32,
}

impl Note<'_> {
    fn scalar(&mut self, reg: u32) {
        let file = &mut self.mentions.scalars;
        file.mention(reg, self.at, self.loops, |open| open.first_scalar);
    }

    fn boxed(&mut self, reg: u32) {
        let file = &mut self.mentions.boxed;
        file.mention(reg, self.at, self.loops, |open| open.first_boxed);
    }
}

impl Operands for Note<'_> {
    fn read(&mut self, reg: &mut S) {
        self.scalar(reg.0);
    }
    fn write(&mut self, reg: &mut S) {
        self.scalar(reg.0);
    }
    fn peek(&mut self, reg: &mut B) {
        self.boxed(reg.0);
    }
    fn take(&mut self, reg: &mut Use) {
        self.boxed(reg.reg.0);
    }
    fn define(&mut self, reg: &mut B) {
        self.boxed(reg.0);
    }
}

impl Flatten {
    fn here(&self) -> u32 {
        self.code.len() as u32
    }

    fn emit(&mut self, mut instr: Instr) -> usize {
        let at = self.here();
        instr.visit(&mut Note {
            mentions: &mut self.mentions,
            loops: &self.loops,
            at,
        });
        self.code.push(instr);
        at as usize
    }

    /// Sets the target of a jump made before.
    fn land(&mut self, jump: usize) {
        let here = self.here();
        match self.code.get_mut(jump) {
            Some(Instr::Jump(target) | Instr::JumpUnless(_, target)) => *target = here,
            Some(Instr::CountFrom { exit, .. }) => *exit = here,
            _ => {}
        }
    }

    fn open_loop(&mut self, inner: &super::code::Inner) -> usize {
        let id = self.loop_ranges.len();
        let here = self.here();
        self.loop_ranges.push((here, here));
        self.loops.push(OpenLoop {
            id,
            first_scalar: inner.first_scalar,
            first_boxed: inner.first_boxed,
        });
        id
    }

    fn close_loop(&mut self, id: usize) {
        self.loops.pop();
        let here = self.here();
        if let Some(range) = self.loop_ranges.get_mut(id) {
            range.1 = here;
        }
    }

    fn block(&mut self, block: Vec<Node>) {
        for node in block {
            self.node(node);
        }
    }

    fn node(&mut self, node: Node) {
        match node {
            Node::Instr(instr) => {
                self.emit(instr);
            }
            Node::If {
                condition,
                then,
                otherwise,
            } => {
                let skip = self.emit(Instr::JumpUnless(condition, 0));
                self.block(then);
                if otherwise.is_empty() {
                    self.land(skip);
                    return;
                }
                let done = self.jump_unless_ended();
                self.land(skip);
                self.block(otherwise);
                if let Some(done) = done {
                    self.land(done);
                }
            }
            Node::Switch { on, arms, targets } => self.switch(on, arms, &targets),
            Node::Count {
                counter,
                bound,
                body,
                inner,
            } => {
                let id = self.open_loop(&inner);
                let exit = 0;
                let enter = self.emit(Instr::CountFrom { counter, bound, exit });
                let start = self.here();
                self.block(body);
                self.emit(Instr::CountOn {
                    counter,
                    bound,
                    body: start,
                });
                self.land(enter);
                self.close_loop(id);
            }
            Node::While {
                head,
                condition,
                body,
                inner,
            } => {
                let id = self.open_loop(&inner);
                let start = self.here();
                self.block(head);
                let exit = self.emit(Instr::JumpUnless(condition, 0));
                self.block(body);
                self.emit(Instr::Jump(start));
                self.land(exit);
                self.close_loop(id);
            }
        }
    }

    /// A jump over the code to come, unless the code before never gets here.
    fn jump_unless_ended(&mut self) -> Option<usize> {
        match self.code.last() {
            Some(Instr::Return(_) | Instr::TailCall(_)) => None,
            _ => Some(self.emit(Instr::Jump(0))),
        }
    }

    fn switch(&mut self, on: B, arms: Vec<Vec<Node>>, targets: &[usize]) {
        let at = self.emit(Instr::Switch {
            on,
            targets: Box::default(),
        });
        let mut starts = Vec::with_capacity(arms.len());
        let mut ends = Vec::new();
        for arm in arms {
            starts.push(self.here());
            self.block(arm);
            ends.extend(self.jump_unless_ended());
        }
        for end in ends {
            self.land(end);
        }
        let resolved = targets.iter().filter_map(|arm| starts.get(*arm).copied());
        if let Some(Instr::Switch { targets, .. }) = self.code.get_mut(at) {
            *targets = resolved.collect();
        }
    }

    /// The ranges of one file, with loops taken into account.
    fn ranges(&mut self, file: impl Fn(&mut Mentions) -> &mut File) -> Vec<Range> {
        let file = file(&mut self.mentions);
        for (reg, id) in std::mem::take(&mut file.carried) {
            if let (Some(Some(range)), Some((start, end))) =
                (file.ranges.get_mut(reg as usize), self.loop_ranges.get(id))
            {
                *range = (range.0.min(*start), range.1.max(*end));
            }
        }
        let ranges = (0..).zip(&file.ranges);
        ranges
            .filter_map(|(reg, range)| {
                let (start, end) = (*range)?;
                Some(Range { reg, start, end })
            })
            .collect()
    }
}

struct Rename<'a> {
    scalars: &'a [u32],
    boxed: &'a [u32],
}

impl Rename<'_> {
    fn boxed(&self, reg: &mut B) {
        reg.0 = self.boxed.get(reg.0 as usize).copied().unwrap_or(0);
    }

    fn scalar(&self, reg: &mut S) {
        reg.0 = self.scalars.get(reg.0 as usize).copied().unwrap_or(0);
    }
}

impl Operands for Rename<'_> {
    fn read(&mut self, reg: &mut S) {
        self.scalar(reg);
    }
    fn write(&mut self, reg: &mut S) {
        self.scalar(reg);
    }
    fn peek(&mut self, reg: &mut B) {
        self.boxed(reg);
    }
    fn take(&mut self, reg: &mut Use) {
        self.boxed(&mut reg.reg);
    }
    fn define(&mut self, reg: &mut B) {
        self.boxed(reg);
    }
}
