/** Detection of forms that the user has started to fill in, so that the page is not left without a question. */

const touched = new Set<Element>();

/** Watch the forms of the page. Returns a function that stops this. */
export function watchInput(): () => void {
  const onInput = ({ target }: Event) => {
    const form = formOf(target);
    if (form) touched.add(form);
  };
  // Selections in lists change no native input, but start with one of the other events.
  const names = ['input', 'keydown', 'pointerdown'] as const;
  for (const name of names) document.addEventListener(name, onInput, true);
  return () => {
    for (const name of names) document.removeEventListener(name, onInput, true);
    touched.clear();
  };
}

/** Return the form of an element. The attribute `form` of a field can name a form that does not contain it. */
function formOf(target: EventTarget | null): Element | null {
  if (!(target instanceof Element)) return null;
  const owner = 'form' in target ? target.form : null;
  return owner instanceof HTMLFormElement ? owner : target.closest('form');
}

/** Return whether the page has a form that the user has used. */
export function hasUsedForm(): boolean {
  for (const form of touched) if (!form.isConnected) touched.delete(form);
  return touched.size > 0;
}
