// adc opt --passes=delinearize-loops,tidy
// A counter that is divided by the length of rows: the loop becomes two. Where the divisor is not positive it is as it was.

func.func @f(%x: memref<?x?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %total = arith.muli %n, %m : index
  %two = arith.constant 2.0 : f64
  scf.for %q = %c0 to %total step %c1 {
    %i = arith.floordivsi %q, %m : index
    %r = arith.remsi %q, %m : index
    %ne = arith.cmpi ne, %r, %c0 : index
    %signs = arith.xori %r, %m : index
    %other = arith.cmpi slt, %signs, %c0 : index
    %wrong = arith.andi %ne, %other : i1
    %up = arith.addi %r, %m : index
    %j = arith.select %wrong, %up, %r : index
    memref.store %two, %x[%i, %j] : memref<?x?xf64>
    scf.yield
  }
  func.return
}

// becomes
func.func @f(%x: memref<?x?xf64>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f64
  %total = arith.muli %n, %m : index
  %0 = arith.cmpi sge, %m, %c1 : index
  %1 = adc.fits %n, %m {kind = "mul"} : index
  %2 = arith.andi %0, %1 : i1
  scf.if %2 {
    scf.for %i = %c0 to %n step %c1 {
      scf.for %q = %c0 to %m step %c1 {
        memref.store %two, %x[%i, %q] : memref<?x?xf64>
        scf.yield
      }
      scf.yield
    }
    scf.yield
  } else {
    scf.for %q_0 = %c0 to %total step %c1 {
      %i_0 = arith.floordivsi %q_0, %m : index
      %r = arith.remsi %q_0, %m : index
      %ne = arith.cmpi ne, %r, %c0 : index
      %signs = arith.xori %r, %m : index
      %other = arith.cmpi slt, %signs, %c0 : index
      %wrong = arith.andi %ne, %other : i1
      %up = arith.addi %r, %m : index
      %j = arith.select %wrong, %up, %r : index
      memref.store %two, %x[%i_0, %j] : memref<?x?xf64>
      scf.yield
    }
    scf.yield
  } {adc.cold = "else"}
  func.return
}
