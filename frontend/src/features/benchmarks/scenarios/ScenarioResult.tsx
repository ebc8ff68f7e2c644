/** Result of a scenario run: figures, the document's tables, charts, and what differs from the document. */
import type { ScenarioResult as Result } from '@/api/types';
import { Card } from '@/ui/Card';
import benchmarkClasses from '../benchmarks.module.css';
import { ResultTable } from './ResultTable';
import { Sentences } from './Sentences';
import { SeriesChart } from './SeriesChart';
import classes from './scenarios.module.css';
import { exactText, figureText, hasValue } from './scenarioText';
import { chartsOf } from './series';

export function ScenarioResult({ result }: { result: Result }) {
  const charts = chartsOf(result.series);
  return (
    <>
      {result.figures.length > 0 && <Figures figures={result.figures} />}
      {result.tables.map((table) => (
        <Card key={table.title} title={table.title} flush>
          <ResultTable table={table} />
        </Card>
      ))}
      {charts.length > 0 && (
        <div className={classes.charts}>
          {charts.map((series) => (
            <SeriesChart key={series.map(({ name }) => name).join()} series={series} />
          ))}
        </div>
      )}
      {result.deviations.length > 0 && (
        <Card title="Deviations from the document">
          <Sentences sentences={result.deviations} />
        </Card>
      )}
    </>
  );
}

function Figures({ figures }: { figures: Result['figures'] }) {
  return (
    <section className={benchmarkClasses.tiles} aria-label="Figures">
      {figures.map(({ name, unit, published, measured }) => (
        <div key={name} className={benchmarkClasses.tile}>
          <span>{name}</span>
          <strong title={exactText(measured, unit)}>{figureText(measured, unit)}</strong>
          <span title={exactText(published, unit)}>
            {hasValue(published) ? `published: ${figureText(published, unit)}` : 'not published'}
          </span>
        </div>
      ))}
    </section>
  );
}
