// adc opt --passes=compact-iterations,canonicalize,cse,dce
// What is added after the branch is zero where it is not taken: all of it is done for the numbers that were found.

func.func @f(%x: memref<?xf64>, %x_bar: memref<?xf64>, %bound: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
    %a = memref.load %x[%i] : memref<?xf64>
    %d = arith.subf %a, %bound : f64
    %below = arith.cmpf olt, %d, %zero : f64
    %q = scf.if %below -> (f64) {
      %b = math.exp %a : f64
      %c = math.sin %b : f64
      %e = arith.divf %c, %bound : f64
      scf.yield %e : f64
    } else {
      scf.yield %zero : f64
    }
    %g = arith.select %below, %d, %zero : f64
    %t = arith.mulf %q, %g : f64
    %u = arith.negf %t : f64
    %old = memref.load %x_bar[%i] : memref<?xf64>
    %new = arith.addf %old, %t : f64
    memref.store %new, %x_bar[%i] : memref<?xf64>
    scf.reduce(%u : f64) {kinds = ["add"]}
  }
  func.return %s : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %x_bar: memref<?xf64>, %bound: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %c512 = arith.constant 512 : index
  %cst = arith.constant -0.0 : f64
  %0 = arith.maxsi %n, %c0 : index
  %1 = arith.ceildivsi %0, %c512 : index
  %s = scf.parallel (%strip) = (%c0) to (%1) step (%c1) init (%zero) -> f64 {
    %2 = memref.alloc() : memref<512xindex>
    %3 = arith.muli %strip, %c512 : index
    %4 = arith.subi %0, %3 : index
    %5 = arith.minsi %4, %c512 : index
    %6 = scf.for %k = %c0 to %5 step %c1 iter_args(%count = %c0) -> (index) {
      %7 = arith.addi %3, %k : index
      %a = memref.load %x[%7] : memref<?xf64>
      %d = arith.subf %a, %bound : f64
      %below = arith.cmpf olt, %d, %zero : f64
      memref.store %7, %2[%count] : memref<512xindex>
      %8 = arith.select %below, %c1, %c0 : index
      %9 = arith.addi %count, %8 : index
      scf.yield %9 : index
    }
    %10 = scf.parallel (%k_0) = (%c0) to (%6) step (%c1) init (%cst) -> f64 {
      %11 = memref.load %2[%k_0] : memref<512xindex>
      %a_0 = memref.load %x[%11] : memref<?xf64>
      %d_0 = arith.subf %a_0, %bound : f64
      %b = math.exp %a_0 : f64
      %c = math.sin %b : f64
      %e = arith.divf %c, %bound : f64
      %t = arith.mulf %e, %d_0 : f64
      %u = arith.negf %t : f64
      %old = memref.load %x_bar[%11] : memref<?xf64>
      %new = arith.addf %old, %t : f64
      memref.store %new, %x_bar[%11] : memref<?xf64>
      scf.reduce(%u : f64) {kinds = ["add"]}
    }
    scf.reduce(%10 : f64) {kinds = ["add"]}
  }
  func.return %s : f64
}
