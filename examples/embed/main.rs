//! A Rust program that calls the library, and that defines what the library calls back. It needs nothing of Almach.
//! (Rust programs that hold the compiler itself use the crate `almach`: see docs/rust-api.md.)

use std::ffi::{CStr, c_char, c_int, c_void};

#[repr(C)]
struct Context {
    _private: [u8; 0],
}

#[repr(C)]
pub struct Pair {
    v0: f32,
    v1: i32,
}

unsafe extern "C" {
    fn blend_new() -> *mut Context;
    fn blend_free(ctx: *mut Context);
    fn blend_error(ctx: *mut Context) -> *const c_char;
    fn blend_release(ctx: *mut Context, block: *mut c_void);
    fn blend_main(
        ctx: *mut Context,
        x_size: i64,
        x: *const f32,
        limit: f32,
        result_size: *mut i64,
        result: *mut *mut f32,
        result_2: *mut f32,
    ) -> c_int;
    fn malloc(bytes: usize) -> *mut c_void;
}

/// # Safety
/// Called by the library, with pointers to results and to `x0_size` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ff(
    result_size: *mut i64,
    result_data: *mut *mut f32,
    x0_size: i64,
    x0_data: *const f32,
    x1: f32,
) {
    // An empty array may have no address.
    let xs = match x0_size {
        0 => &[],
        _ => unsafe { std::slice::from_raw_parts(x0_data, x0_size as usize) },
    };
    let kept: Vec<f32> = xs.iter().copied().filter(|x| *x >= x1).collect();
    unsafe {
        let block = malloc(size_of::<f32>() * (kept.len() + 1)).cast::<f32>();
        std::ptr::copy_nonoverlapping(kept.as_ptr(), block, kept.len());
        *result_size = kept.len() as i64;
        *result_data = block;
    }
}

/// # Safety
/// Called by the library, with a pointer to the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn weigh(result: *mut f32, x0: Pair) {
    unsafe { *result = x0.v0 * (x0.v1 + 1) as f32 };
}

/// The weights and their sum.
fn blend(xs: &[f32], limit: f32) -> Result<(Vec<f32>, f32), String> {
    let (mut size, mut block, mut sum) = (0, std::ptr::null_mut(), 0.0);
    unsafe {
        let ctx = blend_new();
        if ctx.is_null() {
            return Err("no memory".to_owned());
        }
        let status = blend_main(ctx, xs.len() as i64, xs.as_ptr(), limit, &mut size, &mut block, &mut sum);
        let result = match status {
            0 => {
                let weighed = (0..size as usize).map(|i| *block.add(i)).collect();
                blend_release(ctx, block.cast());
                Ok((weighed, sum))
            }
            _ => Err(CStr::from_ptr(blend_error(ctx)).to_string_lossy().into_owned()),
        };
        blend_free(ctx);
        result
    }
}

fn main() -> Result<(), String> {
    let (weighed, sum) = blend(&[4.0, -1.0, 2.5, 7.0], 2.0)?;
    for weight in weighed {
        print!("{weight} ");
    }
    println!("sum {sum}");
    Ok(())
}
