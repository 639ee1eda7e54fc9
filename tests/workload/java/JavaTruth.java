// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * JavaTruth LEAF: threads that each stay below a known stack of Java methods. LEAF is what they do
 * at its end: burn, nap (short sleeps), park (short parks), sleep (one long one), wait, block (on a
 * monitor). Once they are all there, a line for each is printed, `THREAD<tab>METHOD:LINE…`, root
 * first, as the machine itself has them, and an empty one.
 */
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

public class JavaTruth {
    interface Shape {
        long area(int n);
    }

    static class Square implements Shape {
        public long area(int n) {
            return JavaTruth.last(n) + 1;
        }
    }

    static class Circle implements Shape {
        public long area(int n) {
            return JavaTruth.last(n) + 2;
        }
    }

    static class Line implements Shape {
        public long area(int n) {
            return JavaTruth.last(n) + 3;
        }
    }

    static final Shape[] shapes = {new Square(), new Circle(), new Line()};
    static final Object monitor = new Object();
    static volatile boolean isHot;
    static volatile long sink;
    static String leaf;

    static void burn() {
        long sum = sink;
        for (;;) {
            for (int i = 0; i < 100000; i++) {
                sum = sum * 31 + i;
            }
            sink = sum;
        }
    }

    static void nap() throws InterruptedException {
        for (;;) {
            Thread.sleep(2);
        }
    }

    static void park() {
        for (;;) {
            LockSupport.parkNanos(2000000);
        }
    }

    static void await() throws InterruptedException {
        synchronized (JavaTruth.class) {
            JavaTruth.class.wait();
        }
    }

    static void block() {
        synchronized (monitor) {
            sink++;
        }
    }

    static void end() {
        try {
            switch (leaf) {
            case "burn": burn(); break;
            case "nap": nap(); break;
            case "park": park(); break;
            case "sleep": Thread.sleep(600000); break;
            case "wait": await(); break;
            default: block();
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static long last(int n) {
        if (n == 0 && isHot) {
            end();
        }
        return sink += n;
    }

    static long small(int n) {
        return last(n) + 1;
    }

    static long middle(int n) {
        return small(n) + 2;
    }

    static long outer(int n) {
        long sum = 0;
        for (int i = 3; i >= 0; i--) {
            sum += middle(i == 0 ? n : i);
        }
        return sum;
    }

    static long dispatch(int n) {
        return shapes[n % 3].area(n) + shapes[(n + 1) % 3].area(n + 1);
    }

    static long deep(int depth, int n) {
        return depth == 0 ? outer(n) : deep(depth - 1, n) + 1;
    }

    static int compare(int a, int b) {
        last(isHot ? 0 : 5);
        return a - b;
    }

    static void sort() {
        Arrays.asList(2, 1, 3).sort(JavaTruth::compare);
    }

    public static void called() {
        last(0);
    }

    static void reflect() {
        try {
            Method method = JavaTruth.class.getMethod("called");
            method.invoke(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    static void warm(Runnable runnable) {
        for (int i = 0; i < 20000; i++) {
            runnable.run();
        }
    }

    static boolean isThere(Thread thread) {
        Thread.State state = thread.getState();
        String at = "JavaTruth." + (leaf.equals("wait") ? "await" : leaf.equals("sleep") ? "end" : leaf);
        boolean isInside = false;
        for (StackTraceElement element : thread.getStackTrace()) {
            isInside |= (element.getClassName() + "." + element.getMethodName()).equals(at);
        }
        return isInside && (state == Thread.State.RUNNABLE) == leaf.equals("burn");
    }

    static String describe(Thread thread) {
        List<StackTraceElement> elements = new ArrayList<>(Arrays.asList(thread.getStackTrace()));
        StringBuilder text = new StringBuilder(thread.getName());
        for (int i = elements.size(); i-- > 0;) {
            StackTraceElement element = elements.get(i);
            text.append('\t').append(element.getClassName()).append('.')
                .append(element.getMethodName()).append(':').append(element.getLineNumber());
        }
        return text.toString();
    }

    public static void main(String[] arguments) throws Exception {
        leaf = arguments[0];
        Map<String, Runnable> kinds = new LinkedHashMap<>();
        kinds.put("compiled", () -> outer(isHot ? 0 : 5));
        kinds.put("dispatch", () -> dispatch(isHot ? 0 : 5));
        kinds.put("deep", () -> deep(60, isHot ? 0 : 5));
        kinds.put("sort", JavaTruth::sort);
        for (int i = 0; i < 2; i++) {
            kinds.values().forEach(JavaTruth::warm);
            Thread.sleep(300);
        }
        isHot = true;
        kinds.put("reflect", JavaTruth::reflect);
        kinds.put("lambda", () -> {
            Runnable inner = () -> last(0);
            inner.run();
        });
        List<Thread> threads = new ArrayList<>();
        synchronized (monitor) {
            for (Map.Entry<String, Runnable> kind : kinds.entrySet()) {
                Thread thread = new Thread(kind.getValue(), kind.getKey());
                thread.setDaemon(true);
                thread.start();
                threads.add(thread);
            }
            StringBuilder all = new StringBuilder();
            for (Thread thread : threads) {
                while (!isThere(thread)) {
                    Thread.sleep(1);
                }
                String text = describe(thread);
                while (!isThere(thread) || !describe(thread).equals(text)) {
                    text = describe(thread);
                }
                all.append(text).append('\n');
            }
            System.out.print(all + "\n");
            System.out.flush();
            Thread.sleep(600000);
        }
    }
}
