/** List of sentences, for example deviations from a document. */
import classes from './scenarios.module.css';

export function Sentences({ sentences }: { sentences: readonly string[] }) {
  return (
    <ul className={classes.sentences}>
      {sentences.map((sentence) => (
        <li key={sentence}>{sentence}</li>
      ))}
    </ul>
  );
}
