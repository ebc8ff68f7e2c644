//! The commands of a run, their proportions, and their names in the report.

use crate::keys::Pattern;
use crate::options::Options;
use crate::request::{AccessKind, Template};

/// The templates of SET and WAIT in a workload of SETs and GETs.
pub const SET: u8 = 0;
pub const WAIT: u8 = 2;

/// Returns `Hsets` and `HSET` for `hset`.
fn plural(command: &str) -> (String, String) {
    let lower = command.to_lowercase();
    let first: String = lower.chars().take(1).flat_map(char::to_uppercase).collect();
    let rest: String = lower.chars().skip(1).collect();
    (format!("{first}{rest}s"), command.to_uppercase())
}

#[derive(Debug, Clone)]
pub struct Workload {
    pub templates: Vec<Template>,
    /// Key pattern of each template.
    pub patterns: Vec<Pattern>,
    /// Templates in order, with the number of consecutive requests of each.
    pub cycle: Vec<(u8, u64)>,
    /// Index of the report line in which each template is counted.
    pub rows: Vec<usize>,
    /// Kind of access of the commands of each report line.
    pub meanings: Vec<AccessKind>,
    /// Names of the report lines: in the summary and in the distribution.
    pub names: Vec<(String, String)>,
}

impl Workload {
    pub fn new(options: &Options) -> Self {
        if !options.commands.is_empty() {
            return Self::of_commands(options);
        }
        let (set, get) = options.key_pattern;
        Self {
            templates: vec![Template::set(options), Template::get(options), Template::wait()],
            patterns: vec![set, get, Pattern::Random],
            cycle: vec![(SET, options.ratio.0), (1, options.ratio.1)],
            rows: vec![0, 1, 2],
            meanings: vec![AccessKind::Write, AccessKind::Read, AccessKind::Other],
            names: [("Sets", "SET"), ("Gets", "GET"), ("Waits", "WAIT")]
                .map(|(plural, name)| (plural.into(), name.into()))
                .into(),
        }
    }

    fn of_commands(options: &Options) -> Self {
        let mut names: Vec<(String, String)> = Vec::new();
        let mut workload = Self {
            templates: Vec::new(),
            patterns: Vec::new(),
            cycle: Vec::new(),
            rows: Vec::new(),
            meanings: Vec::new(),
            names: Vec::new(),
        };
        for (number, command) in options.commands.iter().enumerate() {
            let name = match options.breakdown_by_line {
                true => (command.line.clone(), command.line.clone()),
                false => plural(&command.arguments[0]),
            };
            let row = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                workload.meanings.push(AccessKind::of(&command.arguments[0]));
                names.len() - 1
            });
            workload.templates.push(Template::command(&command.arguments));
            workload.patterns.push(command.pattern);
            workload.cycle.push((number as u8, command.ratio));
            workload.rows.push(row);
        }
        workload.names = names;
        workload
    }

    /// Whether no key may be skipped.
    pub fn is_walk(&self, template: u8) -> bool {
        self.patterns[usize::from(template)].is_walk()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Client;

    #[test]
    fn a_ratio_is_executed_as_a_cycle() {
        let options = Options { ratio: (1, 2), ..Options::default() };
        let workload = Workload::new(&options);
        let mut client = Client::new(&options, &workload, 0, 1);
        let drawn: Vec<u8> =
            (0..6).map(|_| client.next(&options, &workload).expect("10000 requests").template).collect();
        assert_eq!(drawn, [0, 1, 1, 0, 1, 1]);
        let reads = Options { ratio: (0, 1), ..Options::default() };
        let mut client = Client::new(&reads, &Workload::new(&reads), 0, 1);
        assert_eq!(client.next(&reads, &Workload::new(&reads)).map(|operation| operation.template), Some(1));
    }
}
