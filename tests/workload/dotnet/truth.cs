// SPDX-License-Identifier: GPL-2.0-or-later
//
// truth LEAF: threads that each stay below a known stack of methods.
//
// LEAF is what they do at its end: burn, mix (allocate, throw, call through interfaces), nap (short
// sleeps), or wait (for a lock that is never free). Each prints one line first: its number, the method
// at the end, and its stack as the runtime prints it, innermost first, all with ; between them.
using System;
using System.Collections.Generic;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Truth
{
    interface IShape { int Area(int depth); }

    abstract class Shape : IShape
    {
        public abstract int Area(int depth);
        [MethodImpl(MethodImplOptions.NoInlining)]
        public virtual int Grow(int depth) { return Area(depth) + 1; }
    }

    sealed class Square : Shape
    {
        public override int Area(int depth) { return Program.Leaf() + depth; }
    }

    struct Value : IShape
    {
        public int Number;
        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Area(int depth) { return Program.Leaf() + Number; }
    }

    class Box<T>
    {
        readonly T item;
        public Box(T item) { this.item = item; }
        [MethodImpl(MethodImplOptions.NoInlining)]
        public U Pass<U>(Func<T, U> f) { U result = f(item); return result; }
        public class Inner
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            public int Run() { return Program.Leaf(); }
        }
    }

    class Early
    {
        public static readonly int Number = Program.Leaf();
    }

    class Order : IComparer<string>
    {
        public int Compare(string a, string b) { return Program.Leaf(); }
    }

    class Program
    {
        static string leaf;
        static readonly object printing = new object(), held = new object();
        static volatile int sink;

        [DllImport("libc")]
        static extern int gettid();
        [DllImport("libc")]
        static extern int usleep(uint microseconds);
        [DllImport("libc")]
        static extern void qsort(IntPtr items, IntPtr n, IntPtr size, Compare compare);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        delegate int Compare(IntPtr a, IntPtr b);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Burn() { for (int i = 0; ; i++) sink = i; }
        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Small(int n) { return (n * 7 + 3) % 11; }
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Mix()
        {
            IShape[] shapes = { new Counter(), new Other() };
            for (int i = 0; ; i++)
            {
                sink = Small(i) + shapes[i & 1].Area(i);
                object made = new int[i % 64];
                if (i % 4096 == 0)
                    try { throw new InvalidOperationException(); }
                    catch (InvalidOperationException) { sink = 0; }
                sink += ("a" + i % 10).Length + made.GetHashCode();
            }
        }
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Nap() { while (true) usleep(2000); }
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Wait() { lock (held) Burn(); }

        sealed class Counter : IShape
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            public int Area(int depth) { return depth & 3; }
        }
        sealed class Other : IShape
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            public int Area(int depth) { return depth & 7; }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Say(string last)
        {
            string text = Environment.StackTrace.Replace("\n", ";");
            lock (printing) Console.WriteLine(gettid() + ";" + last + ";" + text);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Leaf()
        {
            switch (leaf)
            {
                case "burn": Say("Burn"); Burn(); break;
                case "mix": Say("Mix"); Mix(); break;
                case "nap": Say("Nap"); Nap(); break;
                default: Say("Wait"); Wait(); break;
            }
            return sink;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Recurse(int n) { return n == 0 ? Leaf() : Recurse(n - 1) + 1; }
        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Odd(int n) { return n == 0 ? Leaf() : Even(n - 1) + 1; }
        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Even(int n) { return n == 0 ? Leaf() : Odd(n - 1) + 1; }
        [MethodImpl(MethodImplOptions.NoInlining)]
        static T Same<T>(T value) { sink = Leaf(); return value; }
        [MethodImpl(MethodImplOptions.NoInlining)]
        static unsafe int Many(int a, int b, int c, int d, int e, int f, int g, int h, double i, string j)
        {
            int* local = stackalloc int[a];
            local[1] = b + c + d + e + f + g + h + (int)i + j.Length;
            return Leaf() + local[1];
        }
        static bool Filter() { Leaf(); return true; }
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Filtered()
        {
            try { throw new InvalidOperationException("x"); }
            catch (InvalidOperationException) when (Filter()) { }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Caught()
        {
            try { throw new InvalidOperationException("x"); }
            catch (InvalidOperationException) { Leaf(); }
        }
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Finally()
        {
            try { sink = 1; }
            finally { Leaf(); }
        }
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Tiered()
        {
            for (int i = 0; i < 300000; i++) sink = Small(i);
            Thread.Sleep(300);
            for (int i = 0; i < 300; i++) Warm(false);
            Thread.Sleep(300);
            for (int i = 0; i < 300; i++) Warm(false);
            Warm(true);
        }
        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Warm(bool stays) { return stays ? Leaf() : Small(sink); }
        static IEnumerable<int> Numbers() { yield return 1; yield return Leaf(); }
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void FromC()
        {
            IntPtr items = Marshal.AllocHGlobal(16);
            Compare compare = (a, b) => Leaf();
            qsort(items, (IntPtr)2, (IntPtr)8, compare);
        }

        static void Begin(string name, ThreadStart body)
        {
            Thread thread = new Thread(body, 16 << 20);
            thread.IsBackground = true;
            thread.Start();
        }

        static void Main(string[] arguments)
        {
            leaf = arguments[0];
            Monitor.Enter(held);
            Shape shape = new Square();
            IShape square = shape, value = new Value();
            Begin("static", () => Leaf());
            Begin("virtual", () => shape.Grow(1));
            Begin("interface", () => square.Area(1));
            Begin("value", () => value.Area(1));
            Begin("recursion", () => Recurse(200));
            Begin("mutual", () => Odd(20));
            Begin("generic", () => Same("x"));
            Begin("generic value", () => Same(5));
            Begin("box", () => new Box<string>("x").Pass(x => Leaf()));
            Begin("box of values", () => new Box<long>(3).Pass(x => "a" + Leaf()));
            Begin("inner", () => new Box<int>.Inner().Run());
            Begin("many", () => Many(3, 2, 3, 4, 5, 6, 7, 8, 9.5, "x"));
            Begin("caught", Caught);
            Begin("finally", Finally);
            Begin("filter", Filtered);
            Begin("tiered", Tiered);
            Begin("iterator", () => { foreach (int n in Numbers()) sink = n; });
            Begin("sort", () => new List<string> { "b", "a", "c" }.Sort(new Order()));
            Begin("comparison", () => Array.Sort(new[] { 3, 2, 1 }, (a, b) => Leaf()));
            Begin("early", () => sink = Early.Number);
            Begin("from C", FromC);
            Begin("dynamic", () => Dynamic.Make()());
            while (true) Thread.Sleep(1000000);
        }
    }

    static class Dynamic
    {
        public static Func<int> Make()
        {
            var method = new System.Reflection.Emit.DynamicMethod("made_at_run_time", typeof(int), new Type[0], typeof(Program).Module, true);
            var code = method.GetILGenerator();
            code.Emit(System.Reflection.Emit.OpCodes.Call, typeof(Program).GetMethod("Leaf"));
            code.Emit(System.Reflection.Emit.OpCodes.Ldc_I4_1);
            code.Emit(System.Reflection.Emit.OpCodes.Add);
            code.Emit(System.Reflection.Emit.OpCodes.Ret);
            return (Func<int>)method.CreateDelegate(typeof(Func<int>));
        }
    }
}
