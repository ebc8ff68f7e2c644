//! HDR files of a run: a percentile table in milliseconds and a histogram log in microseconds, for
//! the totals and each command.

use crate::options::Options;
use crate::report::json::compressed;
use crate::report::{Report, milliseconds};
use hdrhistogram::Histogram;
use std::fmt::Write;

/// Checks that files with this prefix can be written.
pub fn check(options: &Options) -> Result<(), String> {
    let Some(prefix) = &options.hdr_file_prefix else { return Ok(()) };
    let path = format!("{prefix}_FULL_RUN_1.txt");
    std::fs::write(&path, "").map_err(|error| format!("--hdr-file-prefix: {path}: {error}"))
}

pub fn write(prefix: &str, run: &Report) -> Result<(), String> {
    let total = run.total.total();
    write_one(&format!("{prefix}_FULL_RUN_{}", run.number), run, total.latency())?;
    for ((_, name), row) in run.names.iter().zip(&run.total.rows).filter(|(_, row)| row.good > 0) {
        write_one(&format!("{prefix}_{name}_command_run_{}", run.number), run, row.latency())?;
    }
    Ok(())
}

fn write_one(path: &str, run: &Report, latency: &Histogram<u64>) -> Result<(), String> {
    let save =
        |path: String, text: String| std::fs::write(&path, text).map_err(|error| format!("{path}: {error}"));
    save(format!("{path}.txt"), table(latency))?;
    save(format!("{path}.hgrm"), log(run, latency))
}

fn table(latency: &Histogram<u64>) -> String {
    let mut out =
        format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    let mut count = 0;
    for step in latency.iter_quantiles(5) {
        count += step.count_since_last_iteration();
        let quantile = step.quantile_iterated_to();
        let _ = write!(out, "{:12.3} {quantile:2.12} {count:10}", milliseconds(step.value_iterated_to()));
        if quantile < 1.0 {
            let _ = write!(out, " {:14.2}", 1.0 / (1.0 - quantile));
        }
        out.push('\n');
    }
    let _ = writeln!(
        out,
        "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]",
        latency.mean() / 1e3,
        latency.stdev() / 1e3
    );
    let _ = writeln!(
        out,
        "#[Max     = {:12.3}, Total count    = {:12}]",
        milliseconds(latency.max()),
        latency.len()
    );
    let _ = writeln!(out, "#[Buckets = {:12}, SubBuckets     = {:12}]", latency.buckets(), 2048);
    out
}

fn log(run: &Report, latency: &Histogram<u64>) -> String {
    format!(
        "#[Histogram log format version 1.2]\n#[StartTime: {:.3} (seconds since epoch)]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n\
         {:.3},{:.3},{:.3},{}\n",
        run.began,
        run.began,
        run.seconds,
        latency.max() as f64,
        compressed(latency)
    )
}
