// A release by a portable file of dp-designer, in JavaScript without packages (Node 16 or later).
//
//   node release.js portable.txt counts.txt release.json [--random-hex FILE] [--time 2026-01-31T12:00:00Z]
//
// counts.txt: one whole number a line, in the order of the elements. Random bytes come from the operating system; a file of
// them is for tests alone, because noise from bytes that somebody knows hides nothing. The format and the rules, which this
// follows to the bit: docs/guides/other_languages.md.
"use strict";
const fs = require("fs");
const { createHash, randomBytes } = require("crypto");

function bytesOf(path) {
  if (path === undefined) return (count) => randomBytes(count);
  const known = Buffer.from(fs.readFileSync(path, "utf8").trim(), "hex");
  let used = 0;
  return (count) => {
    used += count;
    if (used > known.length) throw new Error("random: too few bytes");
    return known.subarray(used - count, used);
  };
}

// From 0 to limit - 1.
function uniform(limit, read) {
  const bits = limit === 1n ? 0 : (limit - 1n).toString(2).length;
  for (;;) {
    let number = 0n;
    if (bits) for (const byte of read((bits + 7) >> 3)) number = (number << 8n) | BigInt(byte);
    number &= (1n << BigInt(bits)) - 1n;
    if (number < limit) return number;
  }
}

// True with probability exp(-over / under), over <= under.
function smallChance(over, under, read) {
  let k = 1n;
  while (uniform(under * k, read) < over) k += 1n;
  return k % 2n === 1n;
}

function expChance(over, under, read) {
  for (; over > under; over -= under) if (!smallChance(1n, 1n, read)) return false;
  return smallChance(over, under, read);
}

function laplace([s, t], read) {
  for (;;) {
    const low = uniform(t, read);
    if (!smallChance(low, t, read)) continue;
    let high = 0n;
    while (smallChance(1n, 1n, read)) high += 1n;
    const size = (low + t * high) / s;
    const negative = uniform(2n, read) === 1n;
    if (size !== 0n || !negative) return negative ? -size : size;
  }
}

function gaussian([p, q, t], read) {
  for (;;) {
    const z = laplace([1n, t], read);
    const gap = (z < 0n ? -z : z) * q * t - p;
    if (expChance(gap * gap, 2n * p * q * t * t, read)) return z;
  }
}

// 15 significant digits, as Python writes floats.
function numberText(value) {
  if (!Number.isFinite(value)) throw new Error("answer: is beyond the floats");
  const [mantissa, exponent] = Math.abs(value).toExponential(14).split("e");
  const digits = mantissa.replace(".", "").replace(/0+$/, "") || "0";
  const power = Number(exponent);
  const sign = value < 0 ? "-" : "";
  if (power < -4 || power >= 16) {
    const rest = digits.length > 1 ? "." + digits.slice(1) : "";
    return `${sign}${digits[0]}${rest}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  if (power < 0) return `${sign}0.${"0".repeat(-power - 1)}${digits}`;
  const whole = digits.padEnd(power + 1, "0");
  return `${sign}${whole.slice(0, power + 1)}.${whole.slice(power + 1) || "0"}`;
}

function read(path) {
  const file = { coordinates: [], rows: [], rebuild: null, pieces: [] };
  const lines = fs.readFileSync(path, "utf8").split("\n");
  if (lines[0] !== "dp-designer-portable\t1") throw new Error("portable: is no portable file of version 1");
  if (lines[lines.length - 2] !== "end\tdp-designer-portable") throw new Error("portable: is cut off");
  for (const line of lines) {
    const [key, ...rest] = line.split("\t");
    if (key === "law") file.law = rest[0];
    if (key === "elements") file.elements = Number(rest[0]);
    if (key === "coordinate") file.coordinates.push({ exponent: Number(rest[1]), numbers: rest.slice(2).map(BigInt) });
    if (key === "row") file.rows.push(rest.slice(1).map((entry) => entry.split(":")));
    if (key === "rebuild") (file.rebuild = file.rebuild || []).push(rest.slice(1).map((entry) => entry.split(":")));
    if (key === "piece") file.pieces.push(rest);
  }
  return file;
}

function main([portable, countsPath, target, ...options]) {
  const option = (name) => (options.includes(name) ? options[options.indexOf(name) + 1] : undefined);
  const file = read(portable);
  const counts = fs.readFileSync(countsPath, "utf8").split(/\s+/).filter(Boolean);
  if (counts.length !== file.elements || !counts.every((text) => /^[0-9]{1,15}$/.test(text))) {
    throw new Error("counts: must hold one whole number of at most 15 digits for each element");
  }
  const random = bytesOf(option("--random-hex"));
  const draw = { discrete_laplace: laplace, discrete_gaussian: gaussian }[file.law];
  if (!draw) throw new Error("portable: its law is unknown");
  const noise = file.coordinates.map(({ numbers }) => draw(numbers, random));
  const multiples = file.rows.map((row, k) =>
    row.reduce((sum, [place, value]) => sum + BigInt(value) * BigInt(counts[place]), noise[k]));
  const measured = multiples.map((multiple, k) => Number(multiple) * 2 ** file.coordinates[k].exponent);
  const answers = file.rebuild
    ? file.rebuild.map((row) => row.reduce((sum, [place, value]) => sum + Number(value) * measured[place], 0))
    : measured;
  const time = option("--time") || new Date().toISOString().slice(0, 19) + "Z";
  const fill = { text: (text) => text, answer: (k) => numberText(answers[k]), multiple: (k) => String(multiples[k]) };
  fill.time = () => JSON.stringify(time);
  if (fs.existsSync(target)) throw new Error("release: the file exists");
  const body = file.pieces.map(([kind, value]) => fill[kind](value)).join("");
  const seal = createHash("sha256").update(body, "ascii").digest("hex");
  fs.writeFileSync(target, `{"seal":"${seal}",${body.slice(1)}\n`, { flag: "wx" });
}

try {
  main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`release: ${/^(counts|portable|random|answer|release):/.test(error.message) ? error.message : "failed"}\n`);
  process.exit(1);
}
