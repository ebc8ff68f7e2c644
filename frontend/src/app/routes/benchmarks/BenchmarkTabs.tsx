/** Tabs of the pages of benchmarks. */
import { Link } from '@tanstack/react-router';
import classes from '../pages.module.css';

export function BenchmarkTabs() {
  const options = { exact: true, includeSearch: false };
  return (
    <nav className={classes.tabs} aria-label="Benchmarks">
      <Link to="/benchmarks" activeOptions={options}>
        Runs
      </Link>
      <Link to="/benchmarks/scenarios" activeOptions={options}>
        Scenarios
      </Link>
      <Link to="/benchmarks/compare" search={{ uids: '' }} activeOptions={options}>
        Compare
      </Link>
    </nav>
  );
}
