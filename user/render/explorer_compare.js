// SPDX-License-Identifier: GPL-2.0-or-later
//
// explorer_compare: whether a difference is more than chance, for weights that filters made. This is the
// test of compare/compare.c, which explains it, with the same names. Sides: 0 is new, 1 is base.
const compare = (function () {
"use strict";

const NEW = 0, BASE = 1;
const EXACT_DEVIATION = 20, LEAST_EVENTS = 5, MOST_EXACT = 1e9;
const NOISE_PRIOR_FREEDOM = 4, NOISE_MOST_FREEDOM = 60;

// The logarithm of the gamma function, by Stirling's series; x at least 1.
function logGamma(x) {
	let shift = 0;
	for (; x < 8; x++)
		shift -= Math.log(x);
	const inverse = 1 / (x * x);
	return shift + (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) +
		(1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / x;
}

const logChoose = (n, k) => logGamma(n + 1) - logGamma(k + 1) - logGamma(n - k + 1);

// The value that a normal variable exceeds with this probability. Abramowitz and Stegun, 26.2.23.
function normalQuantile(probability) {
	if (probability >= 0.5)
		return 0;
	const t = Math.sqrt(-2 * Math.log(Math.max(probability, 1e-300)));
	return t - (2.515517 + t * (0.802853 + t * 0.010328)) /
		(1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

function logFirstTerm({total, newShare}, x, n) {
	const all = total[NEW] + total[BASE];
	if (all > MOST_EXACT)
		return logChoose(n, x) + x * Math.log(newShare) + (n - x) * Math.log1p(-newShare);
	return logChoose(total[NEW], x) + logChoose(total[BASE], n - x) - logChoose(all, n);
}

function nextTerm({total, newShare}, x, n) {
	let odds = newShare / (1 - newShare);
	if (total[NEW] + total[BASE] <= MOST_EXACT)
		odds = (total[NEW] - x) / (total[BASE] - (n - x) + 1);
	return (n - x) / (x + 1) * odds;
}

function exactTail(split) {
	let x = split.part[NEW], sum = 0;
	const n = x + split.part[BASE], most = Math.min(n, split.total[NEW]);
	for (let term = Math.exp(logFirstTerm(split, x, n)); x <= most && term > sum * 1e-12; x++) {
		sum += term;
		term *= nextTerm(split, x, n);
	}
	return Math.min(sum, 1);
}

function divergence(expected, excess) {
	const t = excess / expected;
	if (!(expected > 0) || expected === Infinity)
		return 0;
	if (Math.abs(t) < 1e-4)
		return expected * t * t * (0.5 - t / 6);
	return t <= -1 ? expected : expected * ((1 + t) * Math.log1p(t) - t);
}

function likelihoodDeviations({part, total, newShare}) {
	const n = part[NEW] + part[BASE], expected = n * newShare;
	const excess = part[NEW] - expected - 0.5;
	if (excess <= 0)
		return 0;
	return Math.sqrt(Math.max(0, 2 * (divergence(expected, excess) + divergence(n - expected, -excess) +
		divergence(total[NEW] - expected, -excess) +
		divergence(total[BASE] - (n - expected), excess))));
}

function splitDeviation({part, total, newShare}) {
	const n = part[NEW] + part[BASE], all = total[NEW] + total[BASE];
	const rest = all === Infinity ? 1 : Math.max(all - n, 0) / Math.max(all - 1, 1);
	return Math.sqrt(n * newShare * (1 - newShare) * rest);
}

const exchange = ({part, total, newShare}) => ({part: [part[BASE], part[NEW]],
	total: [total[BASE], total[NEW]], newShare: 1 - newShare});

const complement = ({part, total, newShare}) => exchange({part: total.map((all, s) => all - part[s]),
	total, newShare});

function roundDown({part, total, newShare}) {
	const whole = [Math.floor(part[NEW] + 1e-6), Math.ceil(part[BASE] - 1e-6)];
	return {part: whole, total: total.map((all, s) => Math.max(Math.round(all), whole[s])), newShare};
}

// The incomplete beta function, as in compare/chance.c.
function betaTerm(a, b, x, k) {
	const m = Math.floor(k / 2);
	return k % 2 ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)) :
		m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
}

function betaFraction(a, b, x) {
	const safe = (value) => (Math.abs(value) < 1e-300 ? 1e-300 : value);
	const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) +
		b * Math.log1p(-x)) / a;
	let sum = 1, c = 1, d = 0;
	for (let k = 1; k < 1000; k++) {
		const term = betaTerm(a, b, x, k);
		d = 1 / safe(1 + term * d);
		c = safe(1 + term / c);
		sum *= c * d;
		if (Math.abs(c * d - 1) < 1e-14)
			break;
	}
	return front / sum;
}

function incompleteBeta(a, b, x) {
	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	return x < (a + 1) / (a + b + 2) ? betaFraction(a, b, x) : 1 - betaFraction(b, a, 1 - x);
}

// The probability that Student's t exceeds a positive value.
const studentTail = (t, freedom) => incompleteBeta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;

// Whether chance would do this less often than allowed. freedom: degrees of freedom of the
// dispersion, 0 if that is certain.
function isBeyond(split, allowed, freedom) {
	const {part, total, newShare} = split;
	let up = part[NEW] < (part[NEW] + part[BASE]) * newShare ? exchange(split) : split;
	const n = part[NEW] + part[BASE];
	if (!(newShare > 0 && newShare < 1) || up.part[NEW] < LEAST_EVENTS)
		return false;
	if (n > total[NEW] + total[BASE] - n)
		up = complement(up);
	const isExact = splitDeviation(up) < EXACT_DEVIATION;
	const tail = isExact ? exactTail(roundDown(up)) : 0;
	if (freedom)
		return studentTail(isExact ? normalQuantile(tail) : likelihoodDeviations(up), freedom) <=
			allowed;
	return isExact ? tail <= allowed : likelihoodDeviations(up) >= normalQuantile(allowed);
}

const pooledLength = (weights, variances) => (weights[0] + weights[1] > 0 ?
	(variances[0] + variances[1]) / (weights[0] + weights[1]) : 0);

function eventLength(header, weights, variances) {
	const {totals} = header, length = pooledLength(weights, variances);
	if (!header.normalized || !(header.variances[0] + header.variances[1] > 0))
		return length;
	const rest = (all, parts) => all.map((whole, s) => Math.max(whole - parts[s], 0));
	const share = (weights[0] + weights[1]) / (totals[0] + totals[1]);
	return (1 - share) * length +
		share * pooledLength(rest(totals, weights), rest(header.variances, variances));
}

// How much more than chance runs differ, and how well that is known: compare/gate_noise.c. own: the
// spread of the same function's runs, or null.
function dispersionBy({clumping, square, slope}, information, own) {
	const between = square * slope * information, expected = clumping + between;
	const prior = Math.min(NOISE_PRIOR_FREEDOM * (expected / between) ** 2, NOISE_MOST_FREEDOM);
	let [freedom, found, ownSlope] = own || [0, expected, 0];
	if (own && found > 1 && ownSlope > 0)
		found = 1 + (found - 1) * slope * information / ownSlope;
	return {factor: Math.max((prior * expected + freedom * found) / (prior + freedom), 1),
		freedom: prior + freedom};
}

function dispersionOf(header, weights, length, own) {
	if (!header.noise)
		return {factor: 1, freedom: 0};
	const sum = weights[0] + weights[1];
	const rest = header.normalized ? Math.max(0, 1 - sum / (header.totals[0] + header.totals[1])) : 1;
	const found = dispersionBy(header.noise, sum / length * rest, own);
	const least = header.leastNoise ? dispersionBy(header.leastNoise, sum / length * rest, null) : found;
	return least.factor > found.factor ? least : found;
}

function makeSplit(header, weights, variances, own) {
	const plain = header.isCount ? 1 : eventLength(header, weights, variances);
	if (!(plain > 0))
		return null;
	const {factor, freedom} = dispersionOf(header, weights, plain, own), length = plain * factor;
	const total = header.totals.map((all) => (header.normalized ? all / length : Infinity));
	if (!(total[0] > 0 && total[1] > 0))
		return null;
	const [newRuns, baseRuns] = header.runs;
	return {part: weights.map((weight) => weight / length), total, freedom,
		newShare: header.normalized ? total[NEW] / (total[NEW] + total[BASE]) :
			newRuns / (newRuns + baseRuns)};
}

// The difference of two weights: {kind: "none", "grew", "shrank", "new" or "gone"; base, now:
// shares of their sides, or plain weights; difference; strength: 0 to 1}. weights, variances:
// [new, base]; own: see dispersionBy().
function change(header, weights, variances, own) {
	const [now, base] = weights.map((weight, s) =>
		(header.normalized ? weight / (header.totals[s] || 1) : weight));
	const difference = now - base;
	const isPlain = header.unsampled && difference !== 0;
	const split = difference && !isPlain ? makeSplit(header, weights, variances, own) : null;
	const allowed = (1 - header.confidence / 100) / 2 / header.compared;
	let kind = "none";
	if (isPlain || (split && isBeyond(split, allowed, split.freedom)))
		kind = difference > 0 ? (base > 0 ? "grew" : "new") : (now > 0 ? "shrank" : "gone");
	return {kind, base, now, difference, strength: Math.abs(difference) / (Math.max(base, now) || 1)};
}

// The same for one place in columns: new, base and, unless samples are counted, their variances.
// what: "self" or "total", of this frame; -1: of none.
function changeAt(header, columns, at, what, frame) {
	const weights = [columns[0][at], columns[1][at]];
	const own = header.ownRuns && frame >= 0 ? header.ownRuns[what][frame] : null;
	return change(header, weights, header.isCount ? weights : [columns[2][at], columns[3][at]], own);
}

return {change, changeAt};
})();
