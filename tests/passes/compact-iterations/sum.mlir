// adc opt --passes=compact-iterations{sums=true},canonicalize,cse,dce
// A sum over the elements below a bound: the first loop finds their numbers, the second one adds up, in order.

func.func @f(%x: memref<?xf64>, %bound: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%r = %zero) -> (f64) {
    %a = memref.load %x[%i] : memref<?xf64>
    %below = arith.cmpf olt, %a, %bound : f64
    %q = scf.if %below -> (f64) {
      %b = math.exp %a : f64
      %c = math.sin %b : f64
      %d = arith.divf %c, %bound : f64
      %e = arith.addf %r, %d : f64
      scf.yield %e : f64
    } else {
      scf.yield %r : f64
    }
    scf.yield %q : f64
  }
  func.return %s : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %bound: f64, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %c512 = arith.constant 512 : index
  %0 = arith.maxsi %n, %c0 : index
  %1 = arith.ceildivsi %0, %c512 : index
  %s = scf.for %strip = %c0 to %1 step %c1 iter_args(%arg0 = %zero) -> (f64) {
    %2 = memref.alloc() : memref<512xindex>
    %3 = arith.muli %strip, %c512 : index
    %4 = arith.subi %0, %3 : index
    %5 = arith.minsi %4, %c512 : index
    %6 = scf.for %k = %c0 to %5 step %c1 iter_args(%count = %c0) -> (index) {
      %7 = arith.addi %3, %k : index
      %a = memref.load %x[%7] : memref<?xf64>
      %below = arith.cmpf olt, %a, %bound : f64
      memref.store %7, %2[%count] : memref<512xindex>
      %8 = arith.select %below, %c1, %c0 : index
      %9 = arith.addi %count, %8 : index
      scf.yield %9 : index
    }
    %10 = scf.for %k_0 = %c0 to %6 step %c1 iter_args(%r = %arg0) -> (f64) {
      %11 = memref.load %2[%k_0] : memref<512xindex>
      %a_0 = memref.load %x[%11] : memref<?xf64>
      %b = math.exp %a_0 : f64
      %c = math.sin %b : f64
      %d = arith.divf %c, %bound : f64
      %e = arith.addf %r, %d : f64
      scf.yield %e : f64
    }
    scf.yield %10 : f64
  }
  func.return %s : f64
}
