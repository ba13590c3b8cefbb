import fc from 'fast-check'

// What tests generate is the same in every run, so that a change alone can make one fail. To try other values:
// TOOLLOOP_TEST_SEED=random npm test, or with the number that a failure named.
const { TOOLLOOP_TEST_SEED: asked = '1' } = process.env
if (asked !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(asked) })
