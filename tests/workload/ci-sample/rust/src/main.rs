// SPDX-License-Identifier: GPL-2.0-or-later
//! The test command of a sample project that pipelines profile: c/bench.c in Rust. Does the same
//! work each time; a change of HASH_ROUNDS slows one function down.

const ROUNDS: u32 = 260;
const HASH_ROUNDS: u64 = 100;

struct Sample {
    state: u64,
}

/// `n` thousand steps of work whose time does not depend on the data.
#[inline(always)]
fn steps(mut value: u64, n: u64) -> u64 {
    for _ in 0..n * 1000 {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
    }
    value
}

impl Sample {
    #[inline(never)]
    fn read_input(&mut self) {
        self.state = self.state.wrapping_add(steps(self.state, 150));
    }

    #[inline(never)]
    fn parse_header(&mut self) {
        self.state ^= steps(self.state, 100);
    }

    #[inline(never)]
    fn parse_record(&mut self) {
        self.state = self.state.wrapping_add(steps(self.state | 1, 450));
    }

    #[inline(never)]
    fn hash_record(&mut self) {
        self.state ^= steps(self.state, 4 * HASH_ROUNDS);
    }

    #[inline(never)]
    fn sort_records(&mut self) {
        self.state = self.state.wrapping_add(steps(self.state | 2, 300));
    }

    #[inline(never)]
    fn write_output(&mut self) {
        self.state ^= steps(self.state, 200);
    }

    #[inline(never)]
    fn process(&mut self) {
        self.parse_header();
        self.parse_record();
        self.hash_record();
        self.sort_records();
    }
}

fn main() {
    let rounds = std::env::args().nth(1).map_or(ROUNDS, |text| text.parse().unwrap());
    let mut sample = Sample { state: 88172645463325252 };
    for _ in 0..rounds {
        sample.read_input();
        sample.process();
        sample.write_output();
    }
    println!("{:016x}", sample.state);
}
