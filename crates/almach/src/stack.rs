//! The compiler recurses over programs, which may nest 5,000 deep; callers' threads have small stacks.

use almach_base::{Diagnostic, Span, compiler_bug};

/// Memory is only touched as it is needed.
const STACK_BYTES: usize = 1 << 30;

/// Runs a step of the compiler on a stack of its own. A panic there is a compiler bug, reported as one.
pub fn on_large_stack<T: Send>(
    step: impl FnOnce() -> Result<T, Vec<Diagnostic>> + Send,
) -> Result<T, Vec<Diagnostic>> {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, step);
        match worker.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => result,
            Ok(Err(_panic)) => Err(vec![compiler_bug(Span::NONE, "a step of the compiler panicked")]),
            Err(why) => Err(vec![compiler_bug(
                Span::NONE,
                format!("no thread with a stack of {STACK_BYTES} bytes: {why}"),
            )]),
        }
    })
}
