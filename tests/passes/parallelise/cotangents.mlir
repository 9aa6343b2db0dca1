// adc opt --passes=parallelise
// What the loop of a reverse sweep carries is a cotangent, to which each iteration adds: iterations are independent. The
// same sum in the program's own order is not touched.

func.func @f(%x: memref<?xf64>, %bar: memref<?xf64>, %g: f64) -> (f64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c-1 = arith.constant -1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %last = arith.addi %n, %c-1 : index
  %own = scf.for %i = %c0 to %n step %c1 iter_args(%so_far = %g) -> (f64) {
    %a = memref.load %x[%i] : memref<?xf64>
    %next = arith.addf %so_far, %a : f64
    scf.yield %next : f64
  }
  %total = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %g) -> (f64) {
    %i = arith.subi %last, %k : index
    %a = memref.load %x[%i] : memref<?xf64>
    %b = math.exp %a : f64
    memref.store %b, %bar[%i] : memref<?xf64>
    %less = arith.subf %sum, %b fastmath<contract> : f64
    %more = arith.addf %a, %less fastmath<contract> : f64
    scf.yield %more : f64
  } {adc.reverse = true}
  func.return %own, %total : f64, f64
}

// becomes
func.func @f(%x: memref<?xf64>, %bar: memref<?xf64>, %g: f64) -> (f64, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c-1 = arith.constant -1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %last = arith.addi %n, %c-1 : index
  %own = scf.for %i = %c0 to %n step %c1 iter_args(%so_far = %g) -> (f64) {
    %a = memref.load %x[%i] : memref<?xf64>
    %next = arith.addf %so_far, %a : f64
    scf.yield %next : f64
  }
  %total = scf.parallel (%k) = (%c0) to (%n) step (%c1) init (%g) -> f64 {
    %0 = arith.addi %c0, %n : index
    %c-1_0 = arith.constant -1 : index
    %1 = arith.addi %0, %c-1_0 : index
    %2 = arith.subi %1, %k : index
    %i_0 = arith.subi %last, %2 : index
    %a_0 = memref.load %x[%i_0] : memref<?xf64>
    %b = math.exp %a_0 : f64
    memref.store %b, %bar[%i_0] : memref<?xf64>
    %3 = arith.negf %b : f64
    %4 = arith.addf %3, %a_0 fastmath<contract> : f64
    scf.reduce(%4 : f64) {kinds = ["add"]}
  } {adc.reverse = true, threads = true}
  func.return %own, %total : f64, f64
}
