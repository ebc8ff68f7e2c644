/** Card of a scenario in the library: what it measures, what the document reports, and what fits this cluster. */
import { Link } from '@tanstack/react-router';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import type { Scenario } from '@/api/types';
import { plural } from '@/lib/format';
import { duration } from '@/lib/time';
import { Bytes } from '@/ui/Bytes';
import { Card } from '@/ui/Card';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { StatusIcon } from '@/ui/Status';
import benchmarkClasses from '../benchmarks.module.css';
import { ResultTable } from './ResultTable';
import { Sentences } from './Sentences';
import classes from './scenarios.module.css';
import { figureText, hasValue, partText, scaleText } from './scenarioText';

interface Props {
  scenario: Scenario;
  onRun: () => void;
}

export function ScenarioCard({ scenario, onRun }: Props) {
  const { title, document, source, about, published, parts } = scenario;
  const figures = published.figures.filter((figure) => hasValue(figure.published));
  // Only administrators can cause failures.
  const may = usePermission(parts.some(({ drill }) => drill) ? 'administer' : 'create');
  return (
    <Card
      title={title}
      className={classes.card ?? ''}
      headerEnd={
        <SubmitButton
          disabled={!may}
          title={may ? undefined : ROLE_DENIED_TEXT}
          aria-label={`Run ${title}`}
          onClick={onRun}
        >
          Run…
        </SubmitButton>
      }
    >
      <div className={benchmarkClasses.stack}>
        <p className={classes.source}>
          Document {document}. {source}
        </p>
        <p>{about}</p>
        <section aria-label={`Published result of ${title}`}>
          <h3>Published result</h3>
          {figures.length > 0 && (
            <ul className={classes.sentences}>
              {figures.map((figure) => (
                <li key={figure.name}>
                  {figure.name}: <strong>{figureText(figure.published, figure.unit)}</strong>
                </li>
              ))}
            </ul>
          )}
          {published.tables.map((table) => (
            <div key={table.title} className={classes.table}>
              <ResultTable table={table} only="published" />
            </div>
          ))}
        </section>
        <section aria-label={`Needs of ${title}`}>
          <h3>Needs at the published size</h3>
          <p>
            {scenario.needs} Memory for databases: <Bytes value={scenario.memory} />. Estimated
            duration: {duration(scenario.seconds)}.
          </p>
        </section>
        <Fit scenario={scenario} />
        <section aria-label={`Parts of ${title}`}>
          <details>
            <summary>{plural(parts.length, 'part')} and assumptions</summary>
            <div className={benchmarkClasses.stack}>
              <ol className={classes.sentences}>
                {parts.map((part) => (
                  <li key={part.name}>
                    <strong>{part.name}</strong>: {partText(part)}
                  </li>
                ))}
              </ol>
              {scenario.unpublished.length > 0 && (
                <div>
                  <h3>Not stated in the document</h3>
                  <Sentences sentences={scenario.unpublished} />
                </div>
              )}
            </div>
          </details>
        </section>
      </div>
    </Card>
  );
}

/** The largest scale that the cluster can run, and its consequences. */
function Fit({ scenario }: { scenario: Scenario }) {
  const { scale, limited_by, description, deviations } = scenario.fit;
  const tone = scale === 0 ? 'broken' : scale < 1 ? 'attention' : 'ok';
  return (
    <section aria-label={`Scale of ${scenario.title} on this cluster`}>
      <h3>On this cluster</h3>
      <div className={benchmarkClasses.concern}>
        <StatusIcon tone={tone} />
        <span>
          <strong>{scale === 0 ? 'Cannot run' : `Runs at ${scaleText(scale)}`}.</strong>{' '}
          {description}
          {limited_by === 'policy' && (
            <>
              {' '}
              <Link to="/settings">Settings</Link>
            </>
          )}
        </span>
      </div>
      {deviations.length > 0 && (
        <details>
          <summary>
            {deviations.length === 1 ? '1 deviation' : `${deviations.length} deviations`} from the
            document
          </summary>
          <Sentences sentences={deviations} />
        </details>
      )}
    </section>
  );
}
