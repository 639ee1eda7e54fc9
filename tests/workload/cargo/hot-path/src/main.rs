// SPDX-License-Identifier: GPL-2.0-or-later
//! Burns for $SECONDS and exits with its last argument, if that is a number.

fn main() {
    hot_path::tell("binary");
    let seconds = std::env::var("SECONDS").ok().and_then(|text| text.parse().ok());
    hot_path::burn(seconds.unwrap_or(0.5));
    let code = std::env::args().last().and_then(|text| text.parse().ok());
    std::process::exit(code.unwrap_or(0));
}
