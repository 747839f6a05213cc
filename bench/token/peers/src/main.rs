// peers ROUNDS FILE...: the crates tiktoken-rs and bpe-openai over the files of bench_tokens.
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn load(path: &str) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap();
    let (mut messages, mut at) = (vec![], 0);
    while at < bytes.len() {
        let size = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        messages.push(String::from_utf8(bytes[at + 4..at + 4 + size].to_vec()).unwrap());
        at += 4 + size;
    }
    messages
}

fn report(who: &str, encoding: &str, file: &str, rounds: usize, texts: &[&String], count: impl Fn(&str) -> usize) {
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    let (mut speeds, mut tokens) = (vec![], 0);
    for _ in 0..rounds {
        let start = cpu_seconds();
        tokens = texts.iter().map(|text| count(text)).sum();
        speeds.push(bytes as f64 / 1e6 / (cpu_seconds() - start));
    }
    speeds.sort_by(|a, b| a.partial_cmp(b).unwrap());
    println!("{who} {encoding} {file} median {:.1} best {:.1} tokens {tokens}", speeds[rounds / 2], speeds[rounds - 1]);
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rounds: usize = arguments[0].parse().unwrap();
    let cores = [tiktoken_rs::o200k_base().unwrap(), tiktoken_rs::cl100k_base().unwrap()];
    let bpes = [bpe_openai::o200k_base(), bpe_openai::cl100k_base()];
    for path in &arguments[1..] {
        let messages = load(path);
        let file = path.rsplit('/').next().unwrap();
        let skip = if messages.len() == 1 { 0 } else { 1 };
        let texts: Vec<&String> = messages.iter().skip(skip).step_by(2).collect();
        for (i, name) in ["o200k_base", "cl100k_base"].iter().enumerate() {
            // The long inputs take tiktoken's quadratic merge too long to be worth waiting for.
            if skip == 1 {
                report("tiktoken-rs", name, file, rounds, &texts, |text| cores[i].encode_ordinary(text).len());
            }
            report("bpe-openai", name, file, rounds, &texts, |text| bpes[i].count(text));
        }
    }
}
