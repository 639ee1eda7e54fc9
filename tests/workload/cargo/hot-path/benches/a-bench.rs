// SPDX-License-Identifier: GPL-2.0-or-later
//! A benchmark with a main function of its own, as those of benchmarking crates have.

fn main() {
    hot_path::tell("bench");
    hot_path::burn(0.5);
}
