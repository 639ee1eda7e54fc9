// SPDX-License-Identifier: GPL-2.0-or-later
//
// churn SECONDS: methods made at run time and given up again: made_N calls burner_K, K = N % 16. Their
// addresses are used again.
using System;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;

class Churn
{
    static int burner(int n) { for (int i = 0; i < 30000; i++) n = n * 7 + i; return n; }
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int burner_0(int n) { return burner(n) + 0; }
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int burner_1(int n) { return burner(n) + 1; }
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int burner_2(int n) { return burner(n) + 2; }
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int burner_3(int n) { return burner(n) + 3; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Run(int n)
    {
        Type[] types = new[] { typeof(int) };
        var method = new DynamicMethod("made_" + n, typeof(int), types, typeof(Churn).Module, true);
        ILGenerator code = method.GetILGenerator();
        code.Emit(OpCodes.Ldarg_0);
        code.Emit(OpCodes.Call, typeof(Churn).GetMethod("burner_" + n % 4));
        code.Emit(OpCodes.Ldc_I4_1);
        code.Emit(OpCodes.Add);
        code.Emit(OpCodes.Ret);
        return ((Func<int, int>)method.CreateDelegate(typeof(Func<int, int>)))(n);
    }

    static int Main(string[] arguments)
    {
        int end = Environment.TickCount + 1000 * int.Parse(arguments[0]), n = 0;
        for (; Environment.TickCount < end; n++)
        {
            Run(n);
            if (n % 50 == 0)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
        }
        return 0;
    }
}
