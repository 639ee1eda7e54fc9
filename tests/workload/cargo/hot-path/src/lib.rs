// SPDX-License-Identifier: GPL-2.0-or-later
//! Functions that tests look for in stacks: one that is called, one that is inlined.

use std::time::{Duration, Instant};

#[inline(always)]
fn inlined_part(mut state: u64) -> u64 {
    for _ in 0..200_000 {
        // Hides the value from the optimizer, so that no loop is computed at compile time.
        state = unsafe { std::ptr::read_volatile(&state) }
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1);
    }
    state
}

#[inline(never)]
pub fn called_part(state: u64) -> u64 {
    inlined_part(state) ^ 1
}

#[cfg(feature = "warm")]
#[inline(never)]
pub fn warm_part(state: u64) -> u64 {
    called_part(state) ^ 3
}

/// Computes for this long.
#[inline(never)]
pub fn burn(seconds: f64) -> u64 {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut state = 1;
    while Instant::now() < end {
        #[cfg(feature = "warm")]
        {
            state = warm_part(state);
        }
        state = called_part(state) ^ 5;
    }
    state
}

/// Prints what a program is given, for tests to read.
pub fn tell(who: &str) {
    println!("\nwho: {who}");
    println!("folder: {}", std::env::current_dir().unwrap().display());
    for argument in std::env::args().skip(1) {
        println!("argument: {argument:?}");
    }
    for (name, value) in std::env::vars() {
        println!("variable: {name}={value:?}");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn unit_test_burns() {
        super::tell("unit test");
        assert!(super::burn(0.5) > 0);
    }
}
