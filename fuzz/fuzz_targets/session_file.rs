#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| backstory_fuzz::session_file(data));
