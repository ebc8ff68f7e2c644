/** Field for a command line of memtier_benchmark, with what the console read. */
import { Button, Textarea } from '@mantine/core';
import classes from '../benchmarks.module.css';
import { workloadText } from '../runText';
import type { CommandLineState } from './useCommandLine';

interface Props extends CommandLineState {
  line: string;
  onChange: (line: string) => void;
}

export function PastedCommand({ line, parsed, problem, onChange }: Props) {
  const isRead = line.trim() !== '' && parsed !== undefined;
  return (
    <>
      <Textarea
        label="Command line of memtier_benchmark"
        description="Host, port and password are ignored. The run uses the database selected above."
        autosize
        minRows={3}
        spellCheck={false}
        placeholder="memtier_benchmark --threads=4 --clients=50 --ratio=1:1 --data-size=500 --test-time=60"
        value={line}
        error={isRead && parsed.errors.length > 0 ? problem : undefined}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      {isRead && parsed.suggestion && (
        <div>
          <pre className={classes.command}>{parsed.suggestion}</pre>
          <Button size="xs" variant="default" onClick={() => onChange(parsed.suggestion)}>
            Use this line
          </Button>
        </div>
      )}
      {isRead && parsed.read_as && (
        <div className={classes.dim}>
          Read as:
          <pre className={classes.command}>{parsed.read_as}</pre>
          Workload: {workloadText(parsed.workload)}.
          {parsed.ignored.length > 0 && ` Ignored: ${parsed.ignored.join(', ')}.`}
          {parsed.corrections.length > 0 && (
            <ul className={classes.corrections}>
              {parsed.corrections.map((correction) => (
                <li key={correction}>{correction}</li>
              ))}
            </ul>
          )}
        </div>
      )}
    </>
  );
}
