#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| backstory_fuzz::readers(data));
libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    backstory_fuzz::mutate(data, size, max_size, seed)
});
