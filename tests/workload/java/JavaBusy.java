// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * JavaBusy: runs all kinds of Java code without end: calls of every kind, allocation, strings,
 * sorting, hashing, exceptions, streams, locks. Prints "ready" when it has begun. With an argument,
 * it does nothing but digest bytes as that says (SHA-512).
 */
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

public class JavaBusy {
    interface Op {
        int run(int n);
    }

    static final Op[] ops = {n -> n + 1, n -> n * 3, n -> n ^ 7, n -> n - 2};
    static volatile long sink;

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static int dispatch(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += ops[i & 3].run(i);
        }
        return sum;
    }

    static int strings(int n) {
        StringBuilder builder = new StringBuilder();
        for (int i = 0; i < n; i++) {
            builder.append(i).append(',');
        }
        return builder.toString().split(",").length;
    }

    static int searches(int n) {
        TreeMap<String, Integer> map = new TreeMap<>();
        String text = "all the words of a text in which there is none of those that are looked for";
        char[] letters = text.toCharArray();
        int sum = 0;
        for (int i = 0; i < n; i++) {
            letters[i % letters.length] = (char) ('a' + i % 26);
            String word = new String(letters);
            map.merge(word, i, Integer::sum);
            sum += text.indexOf(word.substring(i % 40, i % 40 + 3 + i % 20)) + word.toCharArray().length;
        }
        return sum + map.size();
    }

    static int sorting(int n) {
        Integer[] numbers = new Integer[n];
        for (int i = 0; i < n; i++) {
            numbers[i] = (i * 7919) % n;
        }
        Arrays.sort(numbers, Comparator.comparing((Integer x) -> -x));
        return numbers[0];
    }

    static int maps(int n) {
        Map<String, Integer> map = new HashMap<>();
        for (int i = 0; i < n; i++) {
            map.merge("k" + (i % 50), 1, Integer::sum);
        }
        return map.size();
    }

    static void raise(int depth) {
        if (depth == 0) {
            throw new IllegalStateException("x");
        }
        raise(depth - 1);
    }

    static int exceptions(int n) {
        int caught = 0;
        for (int i = 0; i < n; i++) {
            try {
                raise(i % 10);
            } catch (IllegalStateException e) {
                caught++;
            }
        }
        return caught;
    }

    static int streams(int n) {
        return IntStream.range(0, n).map(x -> x * 2).filter(x -> x % 3 == 0).boxed()
            .mapToInt(x -> x).sum();
    }

    static int copies(int n) {
        byte[] bytes = new byte[n * 8];
        byte[] copy = bytes.clone();
        System.arraycopy(bytes, 0, copy, 1, n * 8 - 1);
        return Arrays.hashCode(copy);
    }

    static double math(int n) {
        double sum = 0;
        for (int i = 1; i < n; i++) {
            sum += Math.sin(i) * Math.log(i) + Math.pow(i, .3);
        }
        return sum;
    }

    static int deep(int depth, int n) {
        return depth == 0 ? dispatch(n) : deep(depth - 1, n) + 1;
    }

    static synchronized int locked(int n) {
        return maps(n / 4);
    }

    static void digest(String algorithm) throws Exception {
        MessageDigest digest = MessageDigest.getInstance(algorithm);
        byte[] bytes = new byte[65536];
        for (;;) {
            sink += digest.digest(bytes)[0];
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        if (arguments.length > 0) {
            digest(arguments[0]);
        }
        for (;;) {
            sink += fib(18) + dispatch(2000) + strings(300) + searches(3000) + sorting(300) + maps(500) +
                exceptions(20) + streams(2000) + copies(500) + (long) math(300) + deep(60, 200) +
                locked(200);
        }
    }
}
