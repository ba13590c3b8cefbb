rolldown main.ts --platform node --format esm --dir out
