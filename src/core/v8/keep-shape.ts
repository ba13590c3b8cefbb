/** Kept for ever. */
const examples: object[] = []

/**
 * Keeps an object of a class, made of `parts`, for ever. V8 forgets how the objects of a class are laid out when it collects the last of them, and
 * throws away what it has compiled for them: when no run is under way at a full collection, as in idle times, the next runs would be interpreted
 * and compiled anew. How the objects of a literal are laid out it remembers by the literal, as long as no field is added to them later.
 */
export function keepShape<Made extends object>(made: new (...parts: never) => Made, ...parts: unknown[]): Made {
  const example: Made = Reflect.construct(made, parts)
  keepShapeOf(example)
  return example
}

/** The same for objects like this one. */
export function keepShapeOf(example: object): void {
  examples.push(example)
}
