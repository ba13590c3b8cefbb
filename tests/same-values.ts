import fc from 'fast-check'

// Generated values are the same in every run, so that only a change can make a test fail. To try other values: TOOLLOOP_TEST_SEED=random
// npm test, or with the number that a failure named.
const { TOOLLOOP_TEST_SEED: asked = '1' } = process.env
if (asked !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(asked) })
